// SPDX-License-Identifier: Apache-2.0

import RealServers
import Testing
import TestSupport

@testable import Redis

@Suite(.serialized, .timeLimit(.patient)) struct SentinelClientTests {
    @Test func `a sentinel names the master by host and port`() {
        let reply = RedisValue.array([.text("10.0.0.1"), .text("6379")])
        #expect(SentinelClient.address(in: reply) == .host("10.0.0.1", port: 6379))
    }

    @Test(arguments: [
        RedisValue.null, .status("OK"), .array([]), .array([.text("a")]), .array([.text("a"), .integer(6379)]),
        .array([.text("a"), .text("0")]), .array([.text("a"), .text("65536")]), .array([.text("a"), .text("x")]),
        .array([.text(""), .text("6379")]), .array([.text("a b"), .text("6379")]),
        .array([.string([0xFF]), .text("6379")]), .array([.text("a"), .text("6379"), .text("b")]),
    ]) func `anything else has no address`(_ reply: RedisValue) {
        #expect(SentinelClient.address(in: reply) == nil)
    }

    @Test func `under load, a killed master is replaced by a replica, and every command ends`()
        async throws
    {
        let redis = try await RedisSentinels()
        try await Self.with(
            redis,
            {
                Self.setLimits(&$0)
                $0.trackedPrefixes = ["rc:"]
            }
        ) { test in
            try await test.connected(masters: 1)
            let load = Load()
            async let running: Void = load.run(test.client) { RedisWord("key \($0 % 50)") }
            try await test.until { load.all.count > 200 }
            redis.nodes[0].kill()
            try await test.log.wait { events in
                events.contains { event in
                    if case .mastersChanged(let masters) = event {
                        masters != [redis.nodes[0].address]
                    } else {
                        false
                    }
                }
            }
            let count = load.all.count
            try await test.until { load.all.count >= count + 100 && load.all.suffix(100).allSatisfy { $0 == nil } }
            load.stop()
            await running
            #expect(test.log.events.contains(.flushed(.subscriberLost)))
            #expect(load.all.contains { $0 != nil })
        }
    }

    @Test func `a frozen master is replaced, and not used again when it thaws`() async throws {
        let redis = try await RedisSentinels()
        try await Self.with(redis, Self.setLimits) { test in
            try await test.connected(masters: 1)
            redis.nodes[0].freeze()
            try await test.until { await self.set(test) == .success(.status("OK")) }
            let master = Set(test.client.masters.keys)
            #expect(master != [redis.nodes[0].address])
            redis.nodes[0].thaw()
            try await redis.nodes[0].ask("ROLE", until: { $0.hasPrefix("slave") })
            #expect(await set(test) == .success(.status("OK")))
            #expect(Set(test.client.masters.keys) == master)
        }
    }

    @Test func `a master that became a replica refuses writes until the sentinels' new one is found`() async throws {
        let redis = try await RedisSentinels(replicas: 1, downAfter: Patience.forOperation)
        try await Self.with(redis) { test in
            try await test.connected(masters: 1)
            try redis.sentinels[0].ask("SENTINEL", "FAILOVER", RedisSentinels.masterName)
            try await test.log.wait(for: .mastersChanged([redis.nodes[1].address]))
            try await test.until { await self.set(test) == .success(.status("OK")) }
            try await test.until { test.client.health == .connected(2) }
        }
    }

    @Test func `the master is found with one sentinel of three`() async throws {
        let redis = try await RedisSentinels(replicas: 1, downAfter: Patience.forOperation)
        redis.sentinels[0].kill()
        redis.sentinels[1].freeze()
        defer { redis.sentinels[1].thaw() }
        try await Self.with(redis, Self.setLimits) { test in
            try await test.connected(masters: 1)
            #expect(await set(test) == .success(.status("OK")))
        }
    }

    @Test func `without sentinels the known master is kept`() async throws {
        let redis = try await RedisSentinels(replicas: 1, downAfter: Patience.forOperation)
        try await Self.with(redis) { test in
            try await test.connected(masters: 1)
            for sentinel in redis.sentinels { sentinel.kill() }
            try await test.log.wait(for: .mastersUnknown, count: 3)
            #expect(await set(test) == .success(.status("OK")))
        }
    }

    @Test func `a user and password for Redis, and others for its sentinels`() async throws {
        let redis = try await RedisSentinels(replicas: 1, downAfter: Patience.forOperation)
        for node in redis.nodes { try node.ask("ACL", "SETUSER", "gateway", "on", ">right", "~*", "&*", "+@all") }
        for sentinel in redis.sentinels { try sentinel.ask("ACL", "SETUSER", "watcher", "on", ">seen", "&*", "+@all") }
        func url(_ password: String, _ watcher: String) -> String {
            "redis+sentinel://gateway:\(password)@\(redis.hosts)/\(RedisSentinels.masterName)/3"
                + "?sentinel_user=watcher&sentinel_password=\(watcher)"
        }
        try await TestClient.with(url("right", "seen")) { test in
            try await test.connected(masters: 1)
            #expect(await set(test) == .success(.status("OK")))
            #expect(try redis.nodes[0].ask("INFO", "keyspace").contains("db3:keys=1"))
        }
        for url in [url("wrong", "seen"), url("right", "wrong")] {
            try await TestClient.with(url) { test in
                try await test.until {
                    if case .misconfigured(.refused(let refusal)) = test.client.health {
                        refusal.kind == .wrongPassword
                    } else {
                        false
                    }
                }
                #expect(await set(test) == .failure(.notConnected))
            }
        }
    }

    @Test func `a master's name that no sentinel knows is a configuration fault`() async throws {
        let redis = try await RedisSentinels(replicas: 1, downAfter: Patience.forOperation)
        try await TestClient.with("redis+sentinel://\(redis.hosts)/another") { test in
            try await test.until {
                if case .misconfigured(.refused(let refusal)) = test.client.health {
                    refusal.line.contains("another")
                } else {
                    false
                }
            }
            #expect(await set(test) == .failure(.notConnected))
        }
    }

    private static func with(
        _ redis: RedisSentinels, _ configure: (inout RedisNodeConfiguration) -> Void = { _ in },
        _ body: (TestClient) async throws -> Void
    ) async throws {
        try await TestClient.with("redis+sentinel://\(redis.hosts)/\(RedisSentinels.masterName)", configure, body)
    }

    /// Sets time limits that a step of the test may wait out.
    private static func setLimits(_ configuration: inout RedisNodeConfiguration) {
        (configuration.commandDeadline, configuration.connectDeadline) = (Patience.forLimit, Patience.forLimit)
    }

    private func set(_ test: TestClient) async -> Result<RedisValue, RedisError> {
        await test.client.send([RedisCommand("SET", key: "foo", 1)])[0]
    }
}
