// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPServer

/// A setting: its name, and its place in `GatewayConfiguration`.
package struct ConfigurationKey: Sendable {
    /// The name below `gateway`: `http.port`.
    let name: String
    let accepted: String
    /// True if the value must never be shown and may come from its own file.
    let isSecret: Bool
    let set: @Sendable (inout GatewayConfiguration, String) throws(ConfigurationValueFault) -> Void
    /// Makes the relative paths in the value begin at the folder of the file that names them.
    private(set) var place: @Sendable (inout GatewayConfiguration, _ file: String) -> Void = { _, _ in }
    /// The value as text, with secrets redacted.
    package let text: @Sendable (GatewayConfiguration) -> String
    let differs: @Sendable (GatewayConfiguration, GatewayConfiguration) -> Bool

    init<Value: ConfigurationValue>(
        _ name: String, _ path: any WritableKeyPath<GatewayConfiguration, Value> & Sendable
    ) {
        self.init(name, path, accepted: Value.accepted) { _ in true }
    }

    /// Creates the setting of a file's path.
    init(_ name: String, file path: any WritableKeyPath<GatewayConfiguration, String?> & Sendable) {
        self.init(name, path)
        place = { configuration, file in
            configuration[keyPath: path] = configuration[keyPath: path].map { TextFile.path($0, namedIn: file) }
        }
    }

    /// Creates the setting of several files' paths.
    init(_ name: String, files path: any WritableKeyPath<GatewayConfiguration, [String]> & Sendable) {
        self.init(name, path, accepted: "the paths of PEM files, separated by commas") { _ in true }
        place = { configuration, file in
            configuration[keyPath: path] = configuration[keyPath: path].map { TextFile.path($0, namedIn: file) }
        }
    }

    /// Creates the setting of trust roots, which are files.
    init(_ name: String, roots path: any WritableKeyPath<GatewayConfiguration, [TrustRoot]> & Sendable) {
        self.init(name, path)
        place = { configuration, file in
            for index in configuration[keyPath: path].indices {
                let named = configuration[keyPath: path][index].path
                configuration[keyPath: path][index].path = TextFile.path(named, namedIn: file)
            }
        }
    }

    /// Creates the setting of a host to listen on.
    init(_ name: String, host path: any WritableKeyPath<GatewayConfiguration, String> & Sendable) {
        self.init(
            name, path, accepted: ListenerConfiguration.acceptedHosts, fault: "is not the host of a listener",
            accepts: ListenerConfiguration.accepts)
    }

    init<Value: ConfigurationValue & Comparable>(
        _ name: String, _ path: any WritableKeyPath<GatewayConfiguration, Value> & Sendable,
        in range: ClosedRange<Value>
    ) {
        let bounds = "from \(range.lowerBound.configurationText) to \(range.upperBound.configurationText)"
        self.init(name, path, accepted: "\(Value.accepted), \(bounds)") { range.contains($0) }
    }

    private init<Value: ConfigurationValue>(
        _ name: String, _ path: any WritableKeyPath<GatewayConfiguration, Value> & Sendable,
        accepted: String, fault: String = "is out of range", accepts: @escaping @Sendable (Value) -> Bool
    ) {
        self.name = name
        self.accepted = accepted
        isSecret = Value.isSecret
        text = { $0[keyPath: path].configurationText }
        differs = { $0[keyPath: path] != $1[keyPath: path] }
        set = { (configuration, text) throws(ConfigurationValueFault) in
            let value = try Value(configuration: text)
            guard accepts(value) else { throw ConfigurationValueFault(description: "\"\(text)\" \(fault)") }
            configuration[keyPath: path] = value
        }
    }

    /// The name in files: `gateway.http.port`.
    var fileName: String { "gateway.\(name)" }
    /// The name in the environment: `GATEWAY_HTTP_PORT`.
    var environmentName: String { Self.environmentName(of: fileName) }
    /// The setting that names a file with the secret: `gateway.api_key_pepper_file`.
    var secretFileName: String? { isSecret ? fileName + "_file" : nil }
    package var defaultText: String { text(GatewayConfiguration()) }

    static func environmentName(of fileName: String) -> String {
        fileName.replacing(".", with: "_").uppercased()
    }
}
