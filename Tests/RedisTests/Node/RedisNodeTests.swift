// SPDX-License-Identifier: Apache-2.0

import NIOPosix
import RealServers
import Redis
import Testing
import TestSupport

@Suite(.timeLimit(.patient))
struct RedisNodeTests {
    @Test func `commands are answered in order`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address) { test in
            let results = await test.node.send([
                RedisCommand("SET", key: "a", "1"), RedisCommand("INCR", key: "a"), RedisCommand("GET", key: "a"),
                RedisCommand("GET", key: "b"), RedisCommand("LPUSH", key: "a", "x"),
            ])
            #expect(
                Array(results.dropLast()) == [
                    .success(.status("OK")), .success(.integer(2)), .success(.text("2")), .success(.null),
                ])
            guard case .failure(.refused(let refusal)) = results[4] else {
                Issue.record("\(results[4])")
                return
            }
            #expect(refusal.line.hasPrefix("WRONGTYPE"))
            #expect(await test.node.send([]) == [])
            #expect(test.node.health == .connected(1))
        }
    }

    @Test func `every caller gets its own replies under load`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address, loops: 2) { test in
            try await withThrowingTaskGroup(of: Void.self) { callers in
                for caller in 0..<64 {
                    callers.addTask {
                        for round in 0..<100 {
                            let word = RedisWord("\(caller)-\(round)")
                            let size = RedisWord(String(repeating: "x", count: (caller * round) % 3000))
                            let results = await test.node.send([RedisCommand("ECHO", word), RedisCommand("ECHO", size)])
                            #expect(results == [.success(.string(word.bytes)), .success(.string(size.bytes))])
                        }
                    }
                }
                try await callers.waitForAll()
            }
        }
    }

    @Test func `a frozen Redis costs one deadline, then nothing, and is reconnected`() async throws {
        let redis = try await RealServer.redis()
        // It passes.
        try await TestNode.with(redis.address, { $0.commandDeadline = .milliseconds(50) }) { test in
            redis.freeze()
            #expect(await test.node.send([RedisCommand("INCR", key: "n")]) == [.failure(.timeout)])
            try await test.log.wait(for: .disconnected(.commands, .stalled))
            #expect(await test.node.send([RedisCommand("INCR", key: "n")]) == [.failure(.notConnected)])
            redis.thaw()
            try await test.log.wait(for: .connected(.commands), count: 2)
            // On a busy machine a reply may take longer than this short deadline.
            try await eventually { await test.node.send([RedisCommand("ECHO", "mine")]) == [.success(.text("mine"))] }
        }
    }

    @Test func `a restarted Redis is reconnected`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address, loops: 2) { test in
            redis.kill()
            try await test.log.wait(for: .disconnected(.commands, .closed), count: 2)
            #expect(await test.node.send([RedisCommand("PING")]) == [.failure(.notConnected)])
            try await redis.start()
            try await test.log.wait(for: .connected(.commands), count: 4)
            #expect(await test.node.send([RedisCommand("PING")]) == [.success(.status("PONG"))])
        }
    }

    @Test func `a node that was shut down reports it`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address) { test in
            await test.node.shutdown()
            #expect(await test.node.send([RedisCommand("PING")]) == [.failure(.shutDown)])
            #expect(test.node.health == .disconnected(.shutDown))
        }
    }

    @Test func `unsent bytes are limited`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(
            redis.address,
            {
                // It passes.
                ($0.limits.maximumUnsentBytes, $0.commandDeadline) = (1 << 20, .milliseconds(500))
                $0.connectDeadline = Patience.forLimit
            }
        ) { test in
            redis.freeze()
            // More than the sockets' buffers in the system hold.
            let large = RedisWord([UInt8](repeating: 0, count: 32 << 20))
            #expect(await test.node.send([RedisCommand("ECHO", large)]) == [.failure(.timeout)])
            #expect(await test.node.send([RedisCommand("PING")]) == [.failure(.pipelineFull)])
        }
    }

    @Test func `a node that was never started has no connection`() async throws {
        let log = EventLog()
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let node = RedisNode(RedisNodeConfiguration(address: .unixSocket("/nowhere")), eventLoops: loop, observer: log)
        #expect(await node.send([RedisCommand("PING")]) == [.failure(.notConnected)])
        #expect(node.health == .disconnected(nil))
        await node.shutdown()
        #expect(
            await node.send([RedisCommand("PING"), RedisCommand("PING")]) == [.failure(.shutDown), .failure(.shutDown)])
        #expect(log.events.isEmpty)
    }
}
