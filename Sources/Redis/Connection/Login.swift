// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What is said on a new connection, all at once, before it may be used, and what the answers mean.
struct Login {
    /// What an answer means for the whole.
    enum Progress: Equatable {
        case going
        case done
        case refused(RedisRefusal)
    }

    private enum Step {
        case authenticate, select, setName, loadScript
        /// The last. Redis answers it with an error while it reads its file or has no master.
        case ping
    }

    /// In the order of the answers.
    let commands: [RedisCommand]
    private let password: String?
    private var remaining: ArraySlice<Step>

    /// What this node must be told.
    init(_ configuration: RedisNodeConfiguration, loadsScripts: Bool) {
        password = configuration.password
        var script: [(Step, RedisCommand)] = []
        if let password = configuration.password {
            let user = configuration.user.map { [RedisWord($0)] } ?? []
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

    /// The next answer.
    mutating func receive(_ reply: RedisValue) -> Progress {
        guard let step = remaining.popFirst() else { return .done }
        // A name is for whoever looks: a user who may not set one can still do everything else.
        if case .error(let refusal) = reply, step != .setName || refusal.kind != .noPermission {
            return .refused((step == .authenticate ? refusal.ofLogin : refusal).hiding(password))
        }
        return remaining.isEmpty ? .done : .going
    }
}
