// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Where the configuration comes from, at the start and at each reload.
package struct ConfigurationSource: Sendable {
    /// The environment variables, which do not change while a process runs.
    let environment: [String: String]
    /// The YAML or JSON file, if there is one.
    let filePath: String?

    /// Creates the source of the configuration of one process.
    package init(environment: [String: String], filePath: String?) {
        self.environment = environment
        self.filePath = filePath
    }

    /// The configuration, or everything that is wrong with it.
    /// - Parameter files: where files are read, and remembered.
    package func load(through files: FileReadings) throws(ConfigurationProblems) -> GatewayConfiguration {
        try ConfigurationLoader.load(environment: environment, filePath: filePath, readFile: files.read)
    }
}

extension GatewayConfiguration {
    /// The files that are read at the start only, with the settings that name them.
    var filesReadOnce: [(setting: String, path: String)] {
        let others = [
            ("gateway.apple.ca_file", apple.caFile), ("gateway.redis.ca_file", redis.caFile),
            ("gateway.redis.certificate_file", redis.certificateFile), ("gateway.redis.key_file", redis.keyFile),
        ]
        return trustRoots.map { ("gateway.trust_roots", $0.path) }
            + others.compactMap { name, path in path.map { (name, $0) } }
    }

    /// The configuration once a reload has taken from another one what may change while the gateway runs.
    func reloaded(from other: GatewayConfiguration) -> GatewayConfiguration {
        var next = self
        (next.clientsFile, next.apiKeyPepper) = (other.clientsFile, other.apiKeyPepper)
        next.apple.sharedSecret = other.apple.sharedSecret
        return next
    }
}
