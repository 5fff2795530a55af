// SPDX-License-Identifier: Apache-2.0

import RealServers
import Testing

/// A fault of Redis, or of the connection to it.
struct StoreFault: Sendable, CustomTestStringConvertible {
    typealias Action = @Sendable (StoreStage) async throws -> Void

    /// The event after which it is repaired.
    enum End {
        /// Its injection.
        case injection
        /// `answers` answers to clients, once every node has had a command without an answer.
        case notice
        /// `answers` answers to clients.
        case answers
        /// A time that Redis measures.
        case time(Duration)
    }

    /// The number of answers that clients get during a fault: a second of the load.
    static let answers = 30

    let name: String
    var end = End.notice
    var excess = LimitExcess(lostBuckets: 2)
    /// True if nodes must notice it, and count commands without Redis.
    var isNoticed = true
    let inject: Action
    var repair: Action = { try await $0.way.heal() }

    var testDescription: String { name }
}

extension StoreFault {
    /// The faults of a Redis without replicas.
    static let all = ofTheServer + ofItsMemory + ofTheWay

    private static let password = "a password without a user"

    private static let ofTheServer = [
        StoreFault(name: "killed", inject: { $0.redis.kill() }, repair: { try await $0.redis.start() }),
        StoreFault(
            name: "restarted empty", end: .injection,
            inject: { stage in
                stage.redis.kill()
                try await stage.redis.start()
            }),
        // Longer than the seven seconds after which Redis drops nodes without a heartbeat.
        StoreFault(
            name: "frozen", end: .time(.seconds(8)), inject: { $0.redis.freeze() }, repair: { $0.redis.thaw() }),
        StoreFault(name: "connections killed", end: .injection, inject: { try await $0.killClients() }),
        StoreFault(
            name: "wrong password", excess: LimitExcess(lostBuckets: 2, nodesReturnApart: true),
            inject: { stage in
                try await stage.redis(["config", "set", "requirepass", password])
                try await stage.killClients(password: password)
            },
            repair: { try await $0.redis(["config", "set", "requirepass", ""], password: password) }),
    ]

    private static let ofItsMemory = [
        StoreFault(
            name: "scripts flushed", end: .injection, excess: LimitExcess(), isNoticed: false,
            inject: { try await $0.redis(["script", "flush"]) }),
        StoreFault(
            name: "everything flushed", end: .injection, excess: LimitExcess(lostBuckets: 1), isNoticed: false,
            inject: { try await $0.redis(["flushall"]) }),
        StoreFault(
            name: "memory full",
            inject: { try await $0.redis(["config", "set", "maxmemory", "1"]) },
            repair: { try await $0.redis(["config", "set", "maxmemory", "0"]) }),
    ]

    private static let ofTheWay = [
        StoreFault(name: "unreachable", inject: { try await $0.way.refuse() }),
        StoreFault(name: "stalled", inject: { try await $0.way.set(.stall()) }),
        StoreFault(name: "answers stalled", inject: { try await $0.way.set(.stall([.answers])) }),
        StoreFault(name: "slower than its deadline", inject: { try await $0.way.set(.latency(.milliseconds(80))) }),
        StoreFault(name: "reset", inject: { try await $0.way.set(.end(.reset, afterAnswerBytes: 0)) }),
        StoreFault(name: "truncated", inject: { try await $0.way.set(.end(.truncation, afterAnswerBytes: 20)) }),
        StoreFault(
            name: "in single bytes", end: .answers, isNoticed: false,
            inject: { try await $0.way.set(.slice(1)) }),
    ]
}
