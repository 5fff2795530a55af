// SPDX-License-Identifier: Apache-2.0

import RealServers
import Testing
import TestSupport

@testable import Redis

@Suite(.serialized, .timeLimit(.patient)) struct ClusterClientTests {

    @Test func `a pipeline over all masters returns in order, and every master has its share`() async throws {
        let cluster = try await RedisCluster()
        try await TestClient.with("redis+cluster://\(cluster.hosts)") { test in
            try await test.connected(masters: 3)
            let keys = (0..<300).map { RedisWord("key \($0)") }
            let stored = await test.client.send(keys.enumerated().map { RedisCommand("SET", key: $1, RedisWord($0)) })
            #expect(stored.allSatisfy { $0 == .success(.status("OK")) })
            let found = await test.client.send(keys.map { RedisCommand("GET", key: $0) } + [RedisCommand("PING")])
            #expect(found == (0..<300).map { .success(.text("\($0)")) } + [.success(.status("PONG"))])
            for master in cluster.masters { #expect(try Int(master.ask("DBSIZE")).map { $0 > 50 } == true) }
            #expect(test.client.health == .connected(6))
            #expect(!test.log.events.contains(.redirected(.moved)))
        }
    }

    @Test func `a script runs at its keys' master, also after every master has dropped it`() async throws {
        let cluster = try await RedisCluster()
        let script = RedisScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
        try await TestClient.with("redis+cluster://\(cluster.hosts)", { $0.scripts = [script] }) { test in
            try await test.connected(masters: 3)
            for key in ["{x}1", "{y}2", "{z}3"] as [RedisWord] {
                #expect(try await test.client.send(script.call(keys: [key], [2])) == .integer(2))
            }
            for master in cluster.masters { try master.ask("SCRIPT", "FLUSH") }
            for key in ["{x}1", "{y}2", "{z}3"] as [RedisWord] {
                #expect(try await test.client.run(script, keys: [key], 2) == .integer(4))
            }
        }
    }

    @Test func `every master announces changes of its own keys`() async throws {
        let cluster = try await RedisCluster()
        try await TestClient.with("redis+cluster://\(cluster.hosts)", { $0.trackedPrefixes = ["rc:"] }) { test in
            try await test.log.wait(for: .flushed(.subscribed), count: 3)
            for number in 0..<30 {
                _ = try await test.client.send(RedisCommand("SET", key: RedisWord("rc:\(number)"), 1))
            }
            try await test.log.wait { events in
                var names: Set<[UInt8]> = []
                for case .invalidated(let some) in events { names.formUnion(some) }
                return names == Set((0..<30).map { Array("rc:\($0)".utf8) })
            }
        }
    }

    @Test func `a slot moves to a new master under load, and no command fails`() async throws {
        let cluster = try await RedisCluster(masters: 3, spare: 1)
        let slot = HashSlot(of: "{foo}").number
        try await TestClient.with("redis+cluster://\(cluster.hosts)") { test in
            try await test.connected(masters: 3)
            let load = Load()
            async let running: Void = load.run(test.client) { RedisWord("{foo}\($0 % 900)") }
            // Those keys exist, and the next ones are new: they are redirected to the new master.
            try await test.until { load.all.count > 200 }
            // Without an answer to its refreshes the client learns of the new master from MOVED alone.
            for master in cluster.masters { try master.ask("ACL", "SETUSER", "default", "-cluster|slots") }
            try cluster.beginMove(slot: slot, from: 2, to: 3)
            try await test.log.wait(for: .redirected(.ask), count: 100)
            try cluster.moveKeys(slot: slot, from: 2, to: 3)
            try cluster.finishMove(slot: slot, to: 3)
            try await test.log.wait(for: .redirected(.moved))
            try await test.until { test.client.masters.count == 4 }
            let before = load.all.count
            try await test.until { load.all.count > before + 200 }
            load.stop()
            await running
            #expect(load.all.allSatisfy { $0 == nil })
            // The first MOVED corrects the map: only commands in flight at that time may be redirected too.
            #expect(test.log.events.count { $0 == .redirected(.moved) } <= 4)
        }
    }

    @Test func `a command whose keys are on two masters waits for them`() async throws {
        let cluster = try await RedisCluster()
        let slot = HashSlot(of: "{foo}").number
        try await TestClient.with("redis+cluster://\(cluster.hosts)") { test in
            try await test.connected(masters: 3)
            for key in ["{foo}1", "{foo}2"] as [RedisWord] {
                _ = try await test.client.send(RedisCommand("SET", key: key, 1))
            }
            try cluster.beginMove(slot: slot, from: 2, to: 0)
            try cluster.masters[2].ask("MIGRATE", "127.0.0.1", "\(cluster.masters[0].port)", "{foo}1", "0", "2000")
            async let both = test.client.send([RedisCommand("MGET", key: "{foo}1", "{foo}2")])
            try await test.log.wait(for: .redirected(.tryAgain))
            // The other key does not move: the client fails after some attempts, with the reason.
            guard case .failure(.refused(let refusal)) = await both[0] else {
                Issue.record("keys on two masters were found on one")
                return
            }
            #expect(refusal.kind == .tryAgain)
            let attempts = test.log.events.count { $0 == .redirected(.tryAgain) }
            #expect(attempts == ClusterClient.Limits.maximumRounds)
            try cluster.moveKeys(slot: slot, from: 2, to: 0)
            try cluster.finishMove(slot: slot, to: 0)
            #expect(
                try await test.client.send(RedisCommand("MGET", key: "{foo}1", "{foo}2"))
                    == .array([.text("1"), .text("1")]))
        }
    }

    @Test func `without one master its slots fail at once, the others work, and it returns by itself`() async throws {
        let cluster = try await RedisCluster()
        try await TestClient.with("redis+cluster://\(cluster.hosts)", { $0.commandDeadline = Patience.forEvent }) {
            test in
            try await test.connected(masters: 3)
            cluster.masters[2].kill()
            try await test.until { await self.set("foo", test) != .success(.status("OK")) }
            // A command in flight ends with `timeout`.
            for number in 0..<100 {
                #expect(await set("foo", test) == .failure(.notConnected), "after \(number)")
                #expect(await set("bar", test) == .success(.status("OK")))
            }
            #expect(test.client.health == .connected(4))
            try await cluster.masters[2].start()
            try await test.until { await self.set("foo", test) == .success(.status("OK")) }
            try await test.connected(masters: 3)
        }
    }

    @Test func `commands for a frozen master fail, and others beside them do not`() async throws {
        let cluster = try await RedisCluster()
        try await TestClient.with("redis+cluster://\(cluster.hosts)", { $0.commandDeadline = Patience.forLimit }) {
            test in
            try await test.connected(masters: 3)
            cluster.masters[2].freeze()
            defer { cluster.masters[2].thaw() }
            for _ in 0..<3 {
                let results = await test.client.send([
                    RedisCommand("SET", key: "foo", 1), RedisCommand("SET", key: "bar", 1),
                ])
                #expect([.failure(.timeout), .failure(.notConnected)].contains(results[0]))
                #expect(results[1] == .success(.status("OK")))
            }
        }
    }

    @Test func `a redirection does not lengthen the deadline`() async throws {
        let cluster = try await RedisCluster()
        let url = "redis+cluster://\(cluster.hosts)"
        // The steps below are at 1/2, 1 and 13/10 of it, and a wrong one at 3/2: seconds apart.
        let limit = Patience.forLimit * 4
        try await TestClient.with(url, { $0.commandDeadline = limit }) { test in
            try await TestClient.with(url, { $0.commandDeadline = limit / 10 * 13 }) { slower in
                try await test.connected(masters: 3)
                try await slower.connected(masters: 3)
                try cluster.beginMove(slot: HashSlot(of: "foo").number, from: 2, to: 0)
                cluster.masters[0].freeze()
                defer { cluster.masters[0].thaw() }
                try cluster.masters[2].ask("CLIENT", "PAUSE", "\(Int(limit / 2 / .milliseconds(1)))")
                let results = await withTaskGroup(of: (String, RedisError?).self) { group in
                    for (key, client) in [("foo", test.client), ("bar", slower.client)] {
                        group.addTask {
                            let result = await client.send([RedisCommand("SET", key: RedisWord(key), 1)])[0]
                            return if case .failure(let error) = result { (key, error) } else { (key, nil) }
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(test.log.events.contains(.redirected(.ask)))
                // With a deadline that starts at the redirection, it would end after 1.5 limits, and so last.
                #expect(results.map(\.0) == ["foo", "bar"])
                #expect(results.first?.1 == .timeout && results.last?.1 != nil)
            }
        }
    }

    @Test func `a wrong password is an operator's fault, and nothing is sent`() async throws {
        let cluster = try await RedisCluster()
        for master in cluster.masters { try master.ask("CONFIG", "SET", "requirepass", "right") }
        try await TestClient.with("redis+cluster://:wrong@\(cluster.hosts)") { test in
            try await test.until {
                if case .misconfigured(.refused(let refusal)) = test.client.health {
                    refusal.kind == .wrongPassword
                } else {
                    false
                }
            }
            #expect(await set("foo", test) == .failure(.notConnected))
        }
        try await TestClient.with("redis+cluster://:right@\(cluster.hosts)") { test in
            try await test.connected(masters: 3)
            #expect(await set("foo", test) == .success(.status("OK")))
        }
    }

    @Test func `after the end nothing is sent`() async throws {
        let cluster = try await RedisCluster()
        try await TestClient.with("redis+cluster://\(cluster.hosts)") { test in
            try await test.connected(masters: 3)
            await test.client.shutdown()
            #expect(await set("foo", test) == .failure(.shutDown))
        }
    }

    @Test func `a node without a cluster has no slots`() async throws {
        let alone = try await RealServer.redis()
        try await TestClient.with("redis+cluster://127.0.0.1:\(alone.port)") { test in
            try await test.log.wait(for: .mastersUnknown, count: 2)
            #expect(await set("foo", test) == .failure(.notConnected))
            #expect(test.client.health == .disconnected(nil))
            #expect(test.client.masters.isEmpty)
        }
    }

    private func set(_ key: RedisWord, _ test: TestClient) async -> Result<RedisValue, RedisError> {
        await test.client.send([RedisCommand("SET", key: key, 1)])[0]
    }
}
