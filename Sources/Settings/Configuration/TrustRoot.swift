// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import Receipts

/// A certificate file that the operator trusts, and the environments it is trusted for.
package struct TrustRoot: Hashable, Sendable {
    package var path: String
    var environments: Set<Environment>
}

extension TrustRoot: ConfigurationValue {
    package static var accepted: String {
        "PEM files separated by commas, each optionally followed by =Production, =Sandbox, =Xcode or =LocalTesting, joined with +"
    }

    /// Parses `path`, `path=Sandbox` or `path=Sandbox+Xcode`. Production must be named explicitly.
    package init(configuration text: String) throws(ConfigurationValueFault) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(parts[0])
        environments = []
        if path.isEmpty { throw ConfigurationValueFault(description: "\"\(text)\" names no file") }
        for name in parts.count > 1 ? parts[1].split(separator: "+", omittingEmptySubsequences: false) : ["Sandbox"] {
            guard let environment = Environment(rawValue: String(name)) else {
                throw ConfigurationValueFault(description: "\"\(name)\" in \"\(text)\" is not an environment")
            }
            environments.insert(environment)
        }
    }

    package var configurationText: String {
        path + "=" + environments.map(\.rawValue).sorted().joined(separator: "+")
    }
}

extension TrustStore {
    /// Creates the trust store of a configuration.
    /// - Throws: all problems of the files.
    package init(
        _ configuration: GatewayConfiguration, readFile: (String) throws(FileFault) -> String = TextFile.read
    ) throws(ConfigurationProblems) {
        try self.init(
            adding: configuration.trustRoots, intermediatesFile: configuration.intermediatesFile, readFile: readFile)
    }

    /// Creates a trust store of Apple's roots and the operator's.
    /// - Parameters:
    ///   - intermediatesFile: a PEM file with intermediates of transaction receipts.
    ///   - setting: the setting that names the roots, for messages.
    /// - Throws: all problems of the files, at the settings that name them.
    package init(
        adding roots: [TrustRoot], intermediatesFile: String? = nil, setting: String = "gateway.trust_roots",
        readFile: (String) throws(FileFault) -> String = TextFile.read
    ) throws(ConfigurationProblems) {
        self = .apple
        var problems: [ConfigurationProblem] = []
        func add(_ path: String, of setting: String, _ add: (String) throws(TrustAnchorError) -> Void) {
            func report(_ fault: String) {
                problems.append(ConfigurationProblem(location: setting, fault: "\(path) \(fault)"))
            }
            do throws(FileFault) {
                let pem = try readFile(path)
                do throws(TrustAnchorError) {
                    try add(pem)
                } catch {
                    report(error.description)
                }
            } catch {
                report(error.description)
            }
        }
        for root in roots {
            add(root.path, of: setting) { pem throws(TrustAnchorError) in
                try self.add(pem: pem, environments: root.environments)
            }
        }
        if let path = intermediatesFile {
            add(path, of: "gateway.trust.intermediates") { pem throws(TrustAnchorError) in
                try self.add(intermediatesPEM: pem)
            }
        }
        guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
    }
}
