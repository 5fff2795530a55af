// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The state machine of one connection. It returns actions, which `ConnectionHandler` carries out. Time is an argument.
protocol ConnectionMachine {
    associatedtype Waiter

    mutating func begin() -> [RedisCommand]
    mutating func receive(_ reply: RedisValue, at now: NIODeadline) -> ConnectionAction<Waiter>
    /// The time at which to call `deadlinePassed(at:)`; nil for never.
    var deadline: NIODeadline? { get }
    /// Handles a deadline. Called until the deadline is in the future, or the connection ends.
    mutating func deadlinePassed(at now: NIODeadline) -> ConnectionAction<Waiter>
    mutating func end(_ fault: RedisConnectionFault) -> [Delivery<Waiter>]
}

enum ConnectionAction<Waiter> {
    case nothing
    case send([RedisCommand])
    case becomeReady
    case deliver(Delivery<Waiter>, thenEnd: RedisConnectionFault?)
    case observe(RedisEvent)
    case end(RedisConnectionFault)
}

struct Delivery<Waiter> {
    let waiter: Waiter
    let results: RedisResults
}

extension Delivery: Equatable where Waiter: Equatable {}

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
