// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import RealServers
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// Pauses of the App Store Server API's quotas, in a real Redis.
@Suite(.timeLimit(.patient))
struct QuotaPausesTests {
    private static let quota = quota()

    private static func quota(
        _ bundleID: String = "com.example.shop", _ environment: UpstreamEnvironment = .production,
        _ operation: ServerAPIOperation = .transactionHistory
    ) -> ServerAPIQuota {
        ServerAPIQuota(bundleID: bundleID, environment: environment, operation: operation)
    }

    private static func remaining(_ node: StoreNode, _ quota: ServerAPIQuota = quota) -> Duration? {
        node.upstreams.guards.pauseRemaining(of: quota)
    }

    /// Returns the shortest rest of a pause that began after `start`.
    private static func least(of seconds: Int, since start: ContinuousClock.Instant) -> Duration {
        .seconds(seconds - 1) - (ContinuousClock.now - start)
    }

    private static func updates(_ node: StoreNode, _ result: String) -> Double {
        node.metric(#"fleet_state_updates_total{update="pause",result="\#(result)"}"#) ?? 0
    }

    /// Runs nodes that get announcements.
    private static func run(
        _ nodes: [StoreNode], isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
    ) async throws {
        try await StoreNode.run(nodes) {
            for node in nodes {
                try await eventually {
                    node.metric(#"store_connections{connection="subscriber"}"#) == 1
                }
            }
            try await body()
        }
    }

    /// Waits until a node has published its pauses: of two more, the second follows in a later exchange.
    private static func waitUntilPublished(by node: StoreNode, to other: StoreNode) async throws {
        for _ in 1...2 {
            let marker = quota("com.example.\(UUID().uuidString)")
            node.fleet.ports.fleetState.publish(pause: .seconds(600), of: marker)
            try await eventually { remaining(other, marker) != nil }
        }
    }

    private static func keys(_ redis: RealServer) throws -> [String] {
        try redis.ask("KEYS", "gw:pause:*").split(separator: "\n").map(String.init).filter { $0.count == 52 }
    }

    @Test func `a pause of one quota reaches all nodes, and no other quota`() async throws {
        let redis = try await RealServer.redis()
        let nodes = try (0..<2).map { _ in try StoreNode(.test(redis)) }
        try await Self.run(nodes) {
            let start = ContinuousClock.now
            nodes[0].fleet.ports.fleetState.publish(pause: .seconds(600), of: Self.quota)
            try await eventually { Self.remaining(nodes[1]) != nil }
            let left = try #require(Self.remaining(nodes[1]))
            #expect((Self.least(of: 600, since: start) ... .seconds(600)).contains(left))
            let others = [
                Self.quota("com.example.other"), Self.quota("com.example.shop", .sandbox),
                Self.quota("com.example.shop", .production, .subscriptionStatuses),
            ]
            for other in others { #expect(Self.remaining(nodes[1], other) == nil) }
            #expect(nodes[1].upstreams.guards.health(of: UpstreamEndpoint(.serverAPI, .production)).pausedFor == nil)
            #expect(Self.updates(nodes[1], "received") == 1)
        }
    }

    @Test func `the longest pause counts, and lasts an hour at most`() async throws {
        let redis = try await RealServer.redis()
        let nodes = try (0..<2).map { _ in try StoreNode(.test(redis)) }
        try await Self.run(nodes) {
            let start = ContinuousClock.now
            for (node, seconds, expected) in [(0, 600, 600), (1, 60, 600), (1, 1200, 1200), (0, 999_999, 3600)] {
                nodes[node].fleet.ports.fleetState.publish(pause: .seconds(seconds), of: Self.quota)
                try await Self.waitUntilPublished(by: nodes[node], to: nodes[1 - node])
                for node in nodes {
                    try await eventually {
                        Self.remaining(node).map { $0 >= Self.least(of: expected, since: start) } ?? false
                    }
                    #expect(try #require(Self.remaining(node)) <= .seconds(expected))
                }
            }
            for key in try Self.keys(redis) {
                let left = try #require(Int(try redis.ask("PTTL", key)))
                #expect((1...3_600_000).contains(left))
            }
        }
    }

    @Test func `Redis shows neither the app nor the operation`() async throws {
        let redis = try await RealServer.redis()
        let node = try StoreNode(.test(redis))
        try await Self.run([node]) {
            node.fleet.ports.fleetState.publish(pause: .seconds(600), of: Self.quota)
            try await eventually { try Self.keys(redis).count == 1 }
            let key = try #require(try Self.keys(redis).first)
            for word in [Self.quota.bundleID, Self.quota.operation.rawValue, "production"] {
                let find = "return string.find(KEYS[1] .. redis.call('GET', KEYS[1]), ARGV[1], 1, true) or 0"
                #expect(try redis.ask("EVAL", find, "1", key, word) == "0")
            }
        }
    }

    @Test func `nodes understand each other's pauses while the cache key is replaced`() async throws {
        let redis = try await RealServer.redis()
        let old = StoreSamples.firstKey, new = StoreSamples.secondKey
        let nodes = try ["\(old),\(new)", "\(new),\(old)"].map { try StoreNode(.test(redis), cacheKeys: $0) }
        let stranger = try StoreNode(.test(redis), cacheKeys: StoreNode.cacheKey)
        try await Self.run(nodes + [stranger]) {
            for (writer, reader) in [(0, 1), (1, 0)] {
                let quota = Self.quota("com.example.\(writer)")
                nodes[writer].fleet.ports.fleetState.publish(pause: .seconds(600), of: quota)
                try await eventually { Self.remaining(nodes[reader], quota) != nil }
            }
            try await eventually { Self.updates(stranger, "unreadable") == 2 }
            #expect(Self.remaining(stranger, Self.quota("com.example.0")) == nil)
        }
    }

    @Test(arguments: [
        ["SET", "KEY", "junk", "PX", "60000"], ["SET", "KEY", "", "PX", "60000"], ["RPUSH", "KEY", "junk"],
        ["SETRANGE", "KEY", "1024", "x"], ["COPY", "PAUSE", "KEY"], ["PERSIST", "PAUSE"],
    ])
    func `a foreign value pauses nothing, and is counted`(command: [String]) async throws {
        let redis = try await RealServer.redis()
        let writer = try StoreNode(.test(redis)), late = try StoreNode(.test(redis))
        try await Self.run([writer]) {
            writer.fleet.ports.fleetState.publish(pause: .seconds(600), of: Self.quota)
            try await eventually { try Self.keys(redis).count == 1 }
        }
        let pause = try #require(try Self.keys(redis).first)
        try await Self.run([late]) {
            let names = ["KEY": "gw:pause:" + String(repeating: "x", count: 43), "PAUSE": pause]
            try redis.ask(command.map { names[$0] ?? $0 })
            try await eventually { Self.updates(late, "unreadable") == 1 }
            #expect(Self.remaining(late) == nil && Self.updates(late, "received") == 0)
        }
    }

    @Test func `a pause that Redis did not take is published later`() async throws {
        let redis = try await RealServer.redis()
        let node = try StoreNode(.test(redis, deadline: .milliseconds(50)))
        try await Self.run([node]) {
            redis.kill()
            node.fleet.ports.fleetState.publish(pause: .seconds(600), of: Self.quota)
            try await eventually { Self.updates(node, "lost") > 0 }
            try await redis.start()
            try await eventually { try Self.keys(redis).count == 1 }
        }
    }

    // MARK: - Limits

    @Test func `pauses beyond the limit of those that wait are counted as lost`() async throws {
        let redis = try await RealServer.redis()
        // It does not run, so nothing is published.
        let node = try StoreNode(.test(redis))
        for number in 0..<RedisQuotaPauses.Limits.unpublished {
            node.fleet.ports.fleetState.publish(pause: .seconds(600), of: Self.quota("com.example.\(number)"))
        }
        #expect(Self.updates(node, "lost") == 0)
        for bundleID in ["com.example.0", "com.example.more"] {
            node.fleet.ports.fleetState.publish(pause: .seconds(600), of: Self.quota(bundleID))
        }
        #expect(Self.updates(node, "lost") == 1)
    }

    @Test func `only keys of quotas' pauses are recorded, up to the limit`() {
        let changed = ChangedQuotaPauses()
        let others = ["gw:pause:production", "gw:pause:server_api:sandbox", "gw:lifecycle:production", "", "rc:12:x"]
        #expect(!changed.record(others.map { Array($0.utf8) }) && changed.takeAll().isEmpty)
        let names = (0...ChangedQuotaPauses.Limits.keys).map { number in
            Array(("gw:pause:" + String(repeating: "x", count: 39) + "\(1000 + number)").utf8)
        }
        #expect(changed.record(names) && changed.takeAll().count == ChangedQuotaPauses.Limits.keys)
        #expect(changed.takeAll().isEmpty)
    }

    // MARK: - The stored form

    @Test func `each quota survives storage`() {
        for environment in UpstreamEnvironment.allCases {
            for operation in ServerAPIOperation.allCases {
                let quota = Self.quota("com.exämple\nshop", environment, operation)
                #expect(ServerAPIQuota(stored: quota.stored) == quota)
            }
        }
    }

    @Test(arguments: [
        "", "production", "production\ntransaction_info", "production\ntransaction_info\n", "\n\n",
        "xcode\ntransaction_info\na", "production\nunknown\na", "Production\ntransaction_info\na",
    ])
    func `a malformed quota is rejected`(text: String) {
        #expect(ServerAPIQuota(stored: Array(text.utf8)) == nil)
    }

    @Test func `a quota that is not UTF-8 is rejected`() {
        #expect(ServerAPIQuota(stored: Array("production\ntransaction_info\n".utf8) + [0xFF]) == nil)
    }
}
