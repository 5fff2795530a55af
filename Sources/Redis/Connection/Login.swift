// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The commands that a new connection sends at once before it is used, and their replies.
struct Login {
    private enum Step {
        case authenticate, select, setName, loadScript
        /// The last step. Redis replies with an error while it loads its data or has no master.
        case ping
    }

    let commands: [RedisCommand]
    private let password: String?
    private var remaining: ArraySlice<Step>

    init(_ configuration: RedisNodeConfiguration, loadsScripts: Bool) {
        password = configuration.credentials.password
        var script: [(Step, RedisCommand)] = []
        if let password {
            let user = configuration.credentials.user.map { [RedisWord($0)] } ?? []
            script.append((.authenticate, RedisCommand(["AUTH"] + user + [RedisWord(password)], key: nil)))
        }
        if configuration.database != 0 {
            script.append((.select, RedisCommand("SELECT", RedisWord(configuration.database))))
        }
        if !configuration.clientName.isEmpty {
            script.append((.setName, RedisCommand("CLIENT", "SETNAME", RedisWord(configuration.clientName))))
        }
        if loadsScripts {
            script += configuration.scripts.map { (.loadScript, RedisCommand("SCRIPT", "LOAD", RedisWord($0.source))) }
        }
        script.append((.ping, RedisCommand("PING")))
        commands = script.map(\.1)
        remaining = script.map(\.0)[...]
    }

    /// Handles the next reply.
    /// - Returns: nil when the login is done.
    mutating func receive<Waiter>(_ reply: RedisValue) -> ConnectionAction<Waiter>? {
        guard let step = remaining.popFirst() else { return nil }
        // The name is only for diagnosis: a user without permission to set it can do everything else.
        if case .error(let refusal) = reply, step != .setName || refusal.kind != .noPermission {
            return .end(.refused((step == .authenticate ? refusal.ofLogin : refusal).hiding(password)))
        }
        return remaining.isEmpty ? nil : .nothing
    }
}
