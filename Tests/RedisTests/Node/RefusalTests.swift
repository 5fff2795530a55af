// SPDX-License-Identifier: Apache-2.0

import RealServers
import Redis
import Testing
import TestSupport

@Suite(.timeLimit(.patient))
struct RefusalTests {
    private static let script = RedisScript("return redis.call('INCR', KEYS[1])")

    @Test func `a script that Redis dropped is sent as source, and loaded by the next connection`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address, { $0.scripts = [Self.script] }) { test in
            let value1 = try await test.node.run(Self.script, keys: ["n"])
            #expect(value1 == .integer(1))
            _ = await test.node.send([RedisCommand("SCRIPT", "FLUSH")])
            #expect(await test.node.send([Self.script.call(keys: ["n"], [])]).map(\.refusalKind) == [.noScript])
            let value2 = try await test.node.run(Self.script, keys: ["n"])
            #expect(value2 == .integer(2))
            _ = await test.node.send([
                RedisCommand("SCRIPT", "FLUSH"), RedisCommand("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"),
            ])
            try await test.log.wait(for: .connected(.commands), count: 2)
            #expect(await test.node.send([Self.script.call(keys: ["n"], [])]) == [.success(.integer(3))])
        }
    }

    @Test func `a full memory refuses writes and answers reads`() async throws {
        let redis = try await RealServer.redis(["--maxmemory", "1", "--maxmemory-policy", "noeviction"])
        try await TestNode.with(redis.address) { test in
            let results = await test.node.send([RedisCommand("SET", key: "a", "1"), RedisCommand("GET", key: "a")])
            #expect(results.first?.refusalKind == .outOfMemory)
            #expect(results.last == .success(.null))
            #expect(test.node.health == .connected(1))
        }
    }

    @Test func `the connection to a master that became a replica ends`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address) { test in
            _ = await test.node.send([RedisCommand("REPLICAOF", "127.0.0.1", "1")])
            let results = await test.node.send([RedisCommand("SET", key: "a", "1"), RedisCommand("PING")])
            #expect(results.map(\.refusalKind) == [.readOnly, nil])
            try await test.log.wait { events in
                events.contains { event in
                    if case .disconnected(.commands, .refused(let refusal)) = event {
                        refusal.kind == .readOnly
                    } else {
                        false
                    }
                }
            }
            try await test.log.wait(for: .connected(.commands), count: 2)
            #expect(test.node.health == .connected(1))
        }
    }

    @Test func `a replica without its master is retried soon`() async throws {
        let redis = try await RealServer.redis(
            ["--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "no"])
        try await TestNode.with(redis.address, waits: false, { $0.reconnection.afterRefusal = .seconds(3600) }) {
            test in
            try await test.log.wait { events in
                events.contains { event in
                    if case .connectFailed(.commands, .refused(let refusal)) = event {
                        refusal.kind == .masterDown
                    } else {
                        false
                    }
                }
            }
            #expect(test.node.health.misconfiguration == nil)
        }
    }

    @Test func `an endless script makes Redis busy, and the node works after it`() async throws {
        let redis = try await RealServer.redis(["--busy-reply-threshold", "20"])
        try await TestNode.with(redis.address) { test in
            try await TestNode.with(redis.address) { other in
                async let endless = other.node.send([RedisCommand("EVAL", "while true do end", "0")])
                var kind: RedisRefusal.Kind?
                while kind != .busy { kind = await test.node.send([RedisCommand("GET", key: "a")]).first?.refusalKind }
                #expect(test.node.health == .connected(1))
                _ = await test.node.send([RedisCommand("SCRIPT", "KILL")])
                #expect(await endless.first?.refusalKind == .other)
                #expect(await test.node.send([RedisCommand("GET", key: "a")]) == [.success(.null)])
            }
        }
    }
}
