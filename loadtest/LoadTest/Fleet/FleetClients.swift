// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Clients of a fleet, each with an API key.
struct FleetClients: Sendable {
    /// The API keys by the names of the clients.
    let keys: [String: String]
    /// The settings with which gateways accept these keys.
    let settings: [String: String]

    private static let pepper = ["GATEWAY_API_KEY_PEPPER": "a pepper of at least thirty-two bytes"]

    /// Has the gateway make the keys.
    ///
    /// - Parameters:
    ///   - policies: of each client by its name, as lines of YAML at the indentation of `keys:`; empty for no limits.
    ///   - file: the clients file that is written.
    init(_ policies: [(name: String, policies: String)], gatewayPath: String, file: String) async throws {
        var (keys, text) = ([String: String](), "clients:\n")
        for (name, policies) in policies {
            let made = try await FinishedProgram.run(gatewayPath, ["hash-key"], environment: Self.pepper)
            guard made.status == 0, let key = made.errors.split(whereSeparator: \.isWhitespace).last else {
                throw made.status == 127
                    ? ProgramError.notStarted(path: gatewayPath) : FleetError.noKey(said: made.errors)
            }
            keys[name] = String(key)
            text += "  - name: \(name)\n    apps: \"*\"\n\(policies)    keys:\n\(made.output)\n"
        }
        self.keys = keys
        try Data(text.utf8).write(to: URL(filePath: file))
        settings = Self.pepper + ["GATEWAY_CLIENTS_FILE": file]
    }
}

/// The reason for which a fleet cannot be used.
enum FleetError: Error, Hashable, CustomStringConvertible {
    /// An unexpected reply.
    case redis(said: String)
    case noKey(said: String)

    var description: String {
        switch self {
        case .redis(let said): "Redis (redis-server, redis-cli, redis-benchmark) cannot be used: \(said)"
        case .noKey(let said): "The gateway made no API key: \(said)"
        }
    }
}
