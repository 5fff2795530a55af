// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import RealServers
import Testing

/// A fault of Redis, or of the connection to it.
struct StoreFault: Sendable, CustomTestStringConvertible {
    typealias Deed = @Sendable (StoreStage) async throws -> Void

    let name: String
    /// The time from its beginning to its end; zero for an instantaneous fault.
    var lasts = Duration.seconds(3)
    /// The number of times that the buckets are lost with Redis, or become shares of the nodes: each time they are full
    /// again.
    var lostBuckets = 2
    /// True if nodes must notice it, and count commands without Redis.
    var isNoticed = true
    let strike: Deed
    var mend: Deed = { try await $0.way.heal() }

    var testDescription: String { name }
}

extension StoreFault {
    /// The faults of a Redis without replicas.
    static let all = ofTheServer + ofItsMemory + ofTheWay

    private static let password = "a password without a user"

    private static let ofTheServer = [
        StoreFault(name: "killed", strike: { $0.redis.kill() }, mend: { try await $0.redis.start() }),
        StoreFault(
            name: "restarted empty", lasts: .zero,
            strike: { stage in
                stage.redis.kill()
                try await stage.redis.start()
            }),
        StoreFault(
            name: "frozen", lasts: .seconds(10), strike: { $0.redis.freeze() }, mend: { $0.redis.thaw() }),
        StoreFault(name: "connections killed", lasts: .zero, strike: { try await $0.killClients() }),
        // Refused nodes come back one after another: for seconds one uses Redis again while others still have their
        // shares.
        StoreFault(
            name: "wrong password", lostBuckets: 3,
            strike: { stage in
                try await stage.redis(["config", "set", "requirepass", password])
                try await stage.killClients(password: password)
            },
            mend: { try await $0.redis(["config", "set", "requirepass", ""], password: password) }),
    ]

    private static let ofItsMemory = [
        StoreFault(
            name: "scripts flushed", lasts: .zero, lostBuckets: 0, isNoticed: false,
            strike: { try await $0.redis(["script", "flush"]) }),
        StoreFault(
            name: "everything flushed", lasts: .zero, lostBuckets: 1, isNoticed: false,
            strike: { try await $0.redis(["flushall"]) }),
        StoreFault(
            name: "memory full",
            strike: { try await $0.redis(["config", "set", "maxmemory", "1"]) },
            mend: { try await $0.redis(["config", "set", "maxmemory", "0"]) }),
    ]

    private static let ofTheWay = [
        StoreFault(name: "unreachable", strike: { try await $0.way.refuse() }),
        StoreFault(name: "stalled", strike: { try await $0.way.set(.stall()) }),
        StoreFault(name: "answers stalled", strike: { try await $0.way.set(.stall([.answers])) }),
        StoreFault(name: "slower than its deadline", strike: { try await $0.way.set(.latency(.milliseconds(80))) }),
        StoreFault(name: "reset", strike: { try await $0.way.set(.end(.reset, afterAnswerBytes: 0)) }),
        StoreFault(name: "truncated", strike: { try await $0.way.set(.end(.truncation, afterAnswerBytes: 20)) }),
        StoreFault(
            name: "in single bytes", isNoticed: false, strike: { try await $0.way.set(.slice(1)) }),
    ]
}
