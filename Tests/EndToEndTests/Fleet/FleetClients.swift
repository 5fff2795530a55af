// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The clients of a fleet, each with its own key.
struct FleetClients {
    struct Client: Sendable {
        let name: String
        /// The API key.
        let key: String
    }

    /// The settings that make the clients known to the gateways.
    let settings: [String: String]
    let clients: [Client]

    private static let pepper = ["GATEWAY_API_KEY_PEPPER": "a pepper of at least thirty-two bytes"]

    /// - Parameter policies: those of each client, as lines of YAML at the indentation of `keys:`; none is unlimited.
    init(_ policies: [(name: String, policies: String)], in folder: ScratchFolder) async throws {
        var (clients, text) = ([Client](), "clients:\n")
        for (name, policies) in policies {
            let made = try await Program.gateway.run(["hash-key"], environment: Self.pepper)
            let key = try #require(made.errors.split(separator: "\n").last.map { $0.drop { $0 == " " } })
            clients.append(Client(name: name, key: String(key)))
            text += "  - name: \(name)\n    apps: \"*\"\n\(policies)    keys:\n\(made.output)\n"
        }
        self.clients = clients
        settings = Self.pepper.merging(["GATEWAY_CLIENTS_FILE": try folder.write(text, to: "clients.yaml")]) { $1 }
    }
}
