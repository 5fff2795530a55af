// SPDX-License-Identifier: Apache-2.0

import NIOPosix
import RealServers
import Redis
import Testing
import TestSupport

@Suite(.timeLimit(.patient))
struct SubscriberTests {
    @Test func `changes of tracked names are announced, and flushes`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address, { $0.trackedPrefixes = ["rc:", "gw:"] }) { test in
            try await test.log.wait(for: .flushed(.subscribed))
            _ = await test.node.send([RedisCommand("SET", key: "other", "1")])
            _ = await test.node.send([RedisCommand("SET", key: "rc:1", "1")])
            try await test.log.wait(for: .invalidated([Array("rc:1".utf8)]))
            _ = await test.node.send([RedisCommand("DEL", key: "rc:1")])
            try await test.log.wait(for: .invalidated([Array("rc:1".utf8)]), count: 2)
            _ = await test.node.send([RedisCommand("SET", key: "gw:1", "1", "PX", "1")])
            try await test.log.wait(for: .invalidated([Array("gw:1".utf8)]))
            _ = await test.node.send([RedisCommand("FLUSHALL")])
            try await test.log.wait(for: .flushed(.told))
            #expect(!test.log.events.contains(.invalidated([Array("other".utf8)])))
        }
    }

    @Test func `a channel works without tracking`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address, { $0.channels = ["news"] }) { test in
            try await test.log.wait(for: .connected(.subscriber))
            _ = await test.node.send([RedisCommand("PUBLISH", "news", "hello")])
            try await test.log.wait(for: .published(channel: "news", message: Array("hello".utf8)))
            #expect(!test.log.events.contains(.flushed(.subscribed)))
        }
    }

    @Test func `after CLIENT KILL both reconnect, and cached values are flushed`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address, { $0.trackedPrefixes = ["rc:"] }) { test in
            try await test.log.wait(for: .flushed(.subscribed))
            _ = await test.node.send([RedisCommand("CLIENT", "KILL", "TYPE", "pubsub")])
            try await test.log.wait(for: .flushed(.subscriberLost))
            try await test.log.wait(for: .flushed(.subscribed), count: 2)
            _ = await test.node.send([RedisCommand("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")])
            try await test.log.wait(for: .connected(.commands), count: 2)
            _ = await test.node.send([RedisCommand("SET", key: "rc:1", "1")])
            try await test.log.wait(for: .invalidated([Array("rc:1".utf8)]))
        }
    }

    @Test func `a subscriber without data is closed and reconnects`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(
            redis.address,
            {
                ($0.trackedPrefixes, $0.pingInterval) = (["rc:"], .milliseconds(100))
                $0.connectDeadline = Patience.forLimit
            }
        ) { test in
            try await test.log.wait(for: .flushed(.subscribed))
            redis.freeze()
            try await test.log.wait(for: .disconnected(.subscriber, .stalled))
            try await test.log.wait(for: .flushed(.subscriberLost))
            try await test.log.wait(for: .connectFailed(.subscriber, .stalled))
            redis.thaw()
            try await test.log.wait(for: .flushed(.subscribed), count: 2)
        }
    }

    @Test func `a restart is reported as a flush`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address, { $0.trackedPrefixes = ["rc:"] }) { test in
            try await test.log.wait(for: .flushed(.subscribed))
            redis.kill()
            try await test.log.wait(for: .flushed(.subscriberLost))
            try await redis.start()
            try await test.log.wait(for: .flushed(.subscribed), count: 2)
            try await test.log.wait(for: .connected(.commands), count: 2)
            _ = await test.node.send([RedisCommand("SET", key: "rc:1", "1")])
            try await test.log.wait(for: .invalidated([Array("rc:1".utf8)]))
        }
    }
}
