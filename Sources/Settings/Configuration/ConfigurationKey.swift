// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One setting: its name, its place in `GatewayConfiguration`, and what it means.
package struct ConfigurationKey: Sendable {
    /// The name below `gateway`: `http.port`.
    let name: String
    /// What it means, in one line.
    let meaning: String
    /// What is accepted.
    let accepted: String
    /// Whether its value must never be shown, and may come from a file of its own.
    let isSecret: Bool
    /// Sets it from a text.
    let set: @Sendable (inout GatewayConfiguration, String) throws(ConfigurationValueFault) -> Void
    /// Its value as text, secrets redacted.
    package let text: @Sendable (GatewayConfiguration) -> String
    /// Whether two configurations have different values for it.
    let differs: @Sendable (GatewayConfiguration, GatewayConfiguration) -> Bool

    /// A setting of any type.
    init<Value: ConfigurationValue>(
        _ name: String, _ path: any WritableKeyPath<GatewayConfiguration, Value> & Sendable, _ meaning: String
    ) {
        self.init(name, path, meaning, accepted: Value.accepted) { _ in true }
    }

    /// A setting that must lie in a range.
    init<Value: ConfigurationValue & Comparable>(
        _ name: String, _ path: any WritableKeyPath<GatewayConfiguration, Value> & Sendable,
        in range: ClosedRange<Value>, _ meaning: String
    ) {
        let bounds = "from \(range.lowerBound.configurationText) to \(range.upperBound.configurationText)"
        self.init(name, path, meaning, accepted: "\(Value.accepted), \(bounds)") { range.contains($0) }
    }

    private init<Value: ConfigurationValue>(
        _ name: String, _ path: any WritableKeyPath<GatewayConfiguration, Value> & Sendable, _ meaning: String,
        accepted: String, accepts: @escaping @Sendable (Value) -> Bool
    ) {
        self.name = name
        self.meaning = meaning
        self.accepted = accepted
        isSecret = Value.isSecret
        text = { $0[keyPath: path].configurationText }
        differs = { $0[keyPath: path] != $1[keyPath: path] }
        set = { (configuration, text) throws(ConfigurationValueFault) in
            let value = try Value(configuration: text)
            guard accepts(value) else { throw ConfigurationValueFault(description: "\"\(text)\" is out of range") }
            configuration[keyPath: path] = value
        }
    }
}

extension ConfigurationKey {
    /// The first part of every name: the scope of swift-configuration.
    static let scope = "gateway"

    /// The name in files: `gateway.http.port`.
    var fileName: String { "\(Self.scope).\(name)" }
    /// The name in the environment: `GATEWAY_HTTP_PORT`.
    var environmentName: String { Self.environmentName(of: fileName) }
    /// The setting that names a file holding the secret: `api_key_pepper_file`.
    var secretFileName: String? { isSecret ? name + "_file" : nil }
    /// The value where nothing is set.
    package var defaultText: String { text(GatewayConfiguration()) }

    /// `gateway.http.port` → `GATEWAY_HTTP_PORT`.
    static func environmentName(of fileName: String) -> String {
        fileName.replacing(".", with: "_").uppercased()
    }
}
