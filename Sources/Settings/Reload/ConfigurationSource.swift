// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The source of the configuration, at the start and at each reload.
package struct ConfigurationSource: Sendable {
    /// The environment variables, which do not change while the process runs.
    let environment: [String: String]
    let filePath: String?

    package init(environment: [String: String], filePath: String?) {
        self.environment = environment
        self.filePath = filePath
    }

    /// Returns the configuration, or throws all its problems.
    /// - Parameter files: reads the files, and remembers them.
    package func load(through files: FileReadings) throws(ConfigurationProblems) -> GatewayConfiguration {
        try ConfigurationLoader.load(environment: environment, filePath: filePath, readFile: files.read)
    }
}

extension GatewayConfiguration {
    /// The files that are read only at the start, with the settings that name them.
    var filesReadOnce: [(setting: String, path: String)] {
        let others = [
            ("gateway.apple.ca_file", apple.caFile), ("gateway.redis.ca_file", redis.caFile),
            ("gateway.redis.certificate_file", redis.certificateFile), ("gateway.redis.key_file", redis.keyFile),
        ]
        return trustRoots.map { ("gateway.trust_roots", $0.path) }
            + others.compactMap { name, path in path.map { (name, $0) } }
    }

    /// Returns this configuration with the values of another that may change while the gateway runs.
    func reloaded(from other: GatewayConfiguration) -> GatewayConfiguration {
        var next = self
        (next.clientsFile, next.apiKeyPepper) = (other.clientsFile, other.apiKeyPepper)
        next.apple.sharedSecret = other.apple.sharedSecret
        return next
    }
}
