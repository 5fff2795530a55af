// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import HTTPTypes
import RealServers
import Redis
import Resilience
import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import Operations
@testable import RedisStore
@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

@Suite(.timeLimit(.patient))
struct SharedStoreTests {
    private let health = StoreHealth(isEmbedded: false)
    private let registry: PrometheusRegistry

    init() throws {
        registry = try PrometheusRegistry(MetricCatalogue.all)
        health.settle()
    }

    private func store(_ redis: TestRedis) -> SharedStore {
        SharedStore(redis: redis, health: health, metrics: StoreMetrics(registry))
    }

    private static let ping = RedisCommand("PING")

    @Test(arguments: [RedisError.timeout, .connectionLost])
    func `three timeouts in a row open the breaker`(error: RedisError) async {
        let redis = TestRedis([.failure(error)]), store = store(redis)
        for _ in 1...5 { _ = try? await store.send(Self.ping) }
        #expect(redis.count == 3 && health.condition == .degraded)
        #expect(registry.text().contains(#"store_commands_total{outcome="rejected"} 2"#))
    }

    @Test func `missing connections do not open the breaker, failed probes do`() async {
        let redis = TestRedis([.failure(.notConnected)]), store = store(redis)
        for _ in 1...30 { _ = try? await store.send(Self.ping) }
        #expect(redis.count == 30 && health.breaker == .closed)
        for _ in 1...3 { await store.probe() }
        #expect(health.condition == .degraded && health.breaker == .open)
    }

    @Test func `requests do not probe an open breaker; a successful probe closes it`() async throws {
        let redis = TestRedis([.failure(.timeout)]), store = store(redis)
        for _ in 1...3 { _ = try? await store.send(Self.ping) }
        redis.reply([.success(.status("PONG"))])
        // The opening ends, but requests are still rejected.
        try await eventually {
            let before = redis.count
            await #expect(throws: RedisError.notConnected) { try await store.send(Self.ping) }
            #expect(redis.count == before)
            await store.probe()
            return health.condition == .connected
        }
        _ = try await store.send(Self.ping)
    }

    @Test(arguments: [
        ("OOM command not allowed", true), ("MISCONF Redis is configured", true), ("WRONGTYPE Operation", true),
        ("LOADING Redis is loading", false), ("READONLY You can't write", false),
        ("CLUSTERDOWN Hash slot not served", false),
    ])
    func `a Redis that rejects one command still gets others, one that serves none opens the breaker`(
        line: String, serves: Bool
    ) async {
        let redis = TestRedis([.failure(.refused(RedisRefusal(line: line)))]), store = store(redis)
        for _ in 1...30 { _ = try? await store.send(Self.ping) }
        #expect(redis.count == (serves ? 30 : 10) && health.condition == (serves ? .connected : .degraded))
    }

    @Test func `a forbidden command is reported until it works`() async {
        let refusal = RedisRefusal(line: "NOPERM this user has no permissions to run the 'get' command")
        let redis = TestRedis([.failure(.refused(refusal))]), store = store(redis)
        _ = try? await store.send(RedisCommand("GET", key: "a"))
        redis.reply([.success(.null)])
        _ = try? await store.send(Self.ping)
        #expect(health.condition == .misconfigured && health.configurationFault == .refused(refusal))
        _ = try? await store.send(RedisCommand("GET", key: "a"))
        #expect(health.condition == .connected)
    }

    // MARK: - A real Redis

    @Test func `a killed Redis is noticed at once, and reconnected when it is back`() async throws {
        let redis = try await RealServer.redis()
        let node = try StoreNode(.test(redis, deadline: .milliseconds(50)))
        try await StoreNode.run([node]) {
            try await eventually { node.health.condition == .connected }
            redis.kill()
            try await eventually { node.health.condition == .degraded && node.health.breaker != .closed }
            try await redis.start()
            try await eventually { node.health.condition == .connected }
            let transitions = "store_circuit_breaker_transitions_total"
            #expect(node.metric(#"\#(transitions){from="half_open",to="closed"}"#) ?? 0 >= 1)
        }
    }

    @Test func `no request waits for a frozen Redis`() async throws {
        let redis = try await RealServer.redis()
        let node = try StoreNode(.test(redis, deadline: .milliseconds(50)))
        try await StoreNode.run([node]) {
            try await eventually { node.health.condition == .connected }
            redis.freeze()
            try await eventually { node.health.breaker != .closed }
            let rejected = #"store_commands_total{outcome="rejected"}"#
            let before = node.metric(rejected) ?? 0
            #expect(try await node.ask(Forged.receipts(1)[0]).provenance.source == .apple)
            #expect((node.metric(rejected) ?? 0) > before)
            redis.thaw()
            try await eventually { node.health.condition == .connected }
        }
    }

    @Test(arguments: [(nil, "NOAUTH"), ("wrong", "WRONGPASS")] as [(String?, String)])
    func `a rejected login is a configuration fault`(password: String?, kind: String) async throws {
        let redis = try await RealServer.redis(["--requirepass", "right"])
        let node = try StoreNode(.test(redis, password: password))
        try await StoreNode.run([node]) {
            try await eventually { node.health.condition == .misconfigured }
            #expect(node.health.configurationFault?.configurationWord == kind)
            let refusals = node.metric("store_refusals_total{kind=\"\(kind.lowercased())\"}")
            #expect(refusals.map { $0 > 0 } == true)
            let lifecycle = ServerLifecycle()
            lifecycle.advance(to: .ready)
            let obstacle = NodeHealth(lifecycle: lifecycle, store: node.health).obstacle
            #expect(obstacle?.status.code == 503 && obstacle?.code == .storeMisconfigured)
            // A rollout with the wrong password must not proceed, but requests are still answered.
            #expect(!node.health.hasServed)
            #expect(try await node.ask(Forged.receipts(1)[0]).provenance.source == .apple)
        }
    }

    /// The ACL line that operators copy.
    private static func documentedACL() throws -> [String] {
        let text = try String(contentsOf: repositoryRoot.appending(path: "docs/redis.md"), encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("user gateway ") })
        return line.split(separator: " ").map { $0 == ">PASSWORD" ? ">secret" : String($0) }
    }

    @Test func `the documented ACL line suffices for all commands`() async throws {
        let acl = try Self.documentedACL()
        let redis = try await RealServer.redis(["--user"] + acl.dropFirst() + ["--user", "default", "off"])
        let nodes = try (0..<2).map { _ in try StoreNode(.test(redis, user: "gateway", password: "secret")) }
        try await StoreNode.run(nodes) {
            try await eventually { nodes[0].health.condition == .connected }
            let receipt = Forged.receipts(1)[0]
            _ = try await nodes[0].ask(receipt)
            #expect(try await nodes[1].ask(receipt).provenance.cache == .shared)
            try await nodes[0].fleet.ports.cache.purge(transactionIDs: ["1000"])
            nodes[0].upstreams.guards.pause(.production, for: .seconds(600))
            nodes[0].fleet.ports.fleetState.publish(.pause(.seconds(600)), of: .production)
            try await eventually { nodes[1].upstreams.guards.health(of: .production).pausedFor != nil }
            for node in nodes {
                #expect(node.health.condition == .connected)
                #expect(node.metric(#"store_refusals_total{kind="noperm"}"#) == 0)
                #expect(node.metric(#"store_refusals_total{kind="other"}"#) == 0)
            }
        }
    }
}
