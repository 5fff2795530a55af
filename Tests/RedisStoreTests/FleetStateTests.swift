// SPDX-License-Identifier: Apache-2.0

import AppStore
import Gateway
import RealServers
import Receipts
import Redis
import Synchronization
import Telemetry
import Testing
import TestSupport

@testable import RedisStore
@testable import Server
@testable import ServerTestSupport
@testable import Settings

@Suite(.timeLimit(.patient))
struct FleetStateTests {
    private var redis: StoreRedis { .current }
    private static let sunset = Timestamp(millisecondsSince1970: 1_900_000_000_000)
    private static let link = LifecycleLink(.sunset, target: "https://developer.apple.com/news/")

    private static func learn(_ dates: LifecycleDates, _ node: StoreNode) {
        node.upstreams.lifecycle.record(dates, links: [link], of: .production)
        node.fleet.ports.fleetState.publish(.lifecycle(dates, links: [link]), of: .production)
    }

    private static func announced(_ node: StoreNode) -> LifecycleDates {
        node.upstreams.lifecycle.state(of: .production).announced
    }

    @Test func `all nodes respect a pause that one received, and so do nodes that start later`() async throws {
        let redis = try await RealServer.redis()
        let nodes = [
            try StoreNode(.test(redis), apple: ScriptedApple(.throttled(.seconds(600)))), try StoreNode(.test(redis)),
        ]
        try await StoreNode.run(nodes) {
            #expect(
                try await nodes[0].ask(Forged.receipts(1)[0]).provenance.degradedReasons == [.upstreamPaused])
            let guards = nodes[1].upstreams.guards
            try await eventually { guards.health(of: .production).pausedFor != nil }
            #expect(guards.health(of: .sandbox).pausedFor == nil)
            let left = try #require(guards.health(of: .production).pausedFor)
            #expect((.seconds(500) ... .seconds(600)).contains(left))
        }
        let late = try StoreNode(.test(redis))
        try await StoreNode.run([late]) {
            // Known before the node is ready.
            #expect(late.upstreams.guards.health(of: .production).pausedFor != nil)
        }
    }

    @Test func `an announcement to one node reaches all, also after a restart`() async throws {
        let redis = try await RealServer.redis()
        let nodes = try (0..<2).map { _ in try StoreNode(.test(redis)) }
        let dates = LifecycleDates(sunset: Self.sunset)
        try await StoreNode.run(nodes) {
            Self.learn(dates, nodes[0])
            try await eventually { Self.announced(nodes[1]) == dates }
        }
        let late = try StoreNode(.test(redis))
        try await StoreNode.run([late]) {
            #expect(late.upstreams.lifecycle.state(of: .production).links == [Self.link])
            #expect(Self.announced(late) == dates)
        }
    }

    @Test func `nodes with different announcements do not overwrite each other repeatedly`() async throws {
        let redis = try await RealServer.redis()
        let nodes = try (0..<2).map { _ in try StoreNode(.test(redis)) }
        let first = LifecycleDates(sunset: Self.sunset)
        let second = LifecycleDates(sunset: Self.sunset.advanced(by: .seconds(86_400)))
        try await StoreNode.run(nodes) {
            Self.learn(first, nodes[0])
            try await eventually { Self.announced(nodes[1]) == first }
            let note = try redis.ask("GET", "gw:lifecycle:production")
            Self.learn(second, nodes[1])
            // The announcement in Redis counts.
            try await eventually { Self.announced(nodes[1]) == first }
            #expect(try redis.ask("GET", "gw:lifecycle:production") == note)
            // After a minute another may replace it.
            let old = note.drop { $0 != " " }
            try redis.ask("SET", "gw:lifecycle:production", "1\(old)")
            Self.learn(second, nodes[1])
            try await eventually { Self.announced(nodes[0]) == second }
        }
    }

    @Test func `a withdrawn announcement is forgotten by all nodes, also after a restart`() async throws {
        let redis = try await RealServer.redis()
        let nodes = try (0..<2).map { _ in try StoreNode(.test(redis)) }
        try await StoreNode.run(nodes) {
            Self.learn(LifecycleDates(sunset: Self.sunset), nodes[0])
            try await eventually { Self.announced(nodes[1]).sunset != nil }
            let note = try redis.ask("GET", "gw:lifecycle:production")
            let lifecycle = nodes[0].upstreams.lifecycle
            #expect(!lifecycle.recordAbsence(of: .production, at: Self.sunset))
            // An exchange writes what Redis lost. It is no answer of Apple.
            try redis.ask("DEL", "gw:lifecycle:production")
            try await eventually { try redis.ask("EXISTS", "gw:lifecycle:production") == "1" }
            // As if it were written a minute ago.
            try redis.ask("SET", "gw:lifecycle:production", "1\(note.drop { $0 != " " })")
            #expect(lifecycle.recordAbsence(of: .production, at: Self.sunset.advanced(by: .seconds(6 * 3600))))
            nodes[0].fleet.ports.fleetState.publish(.lifecycle(LifecycleDates(), links: []), of: .production)
            try await eventually { Self.announced(nodes[1]).sunset == nil }
            #expect(Self.announced(nodes[0]).sunset == nil)
        }
        let late = try StoreNode(.test(redis))
        try await StoreNode.run([late]) { #expect(Self.announced(late).sunset == nil) }
    }

    @Test(.cacheInRedis) func `a withdrawal during an exchange is not lost`() async throws {
        let upstreams = UpstreamState(GatewayConfiguration().apple)
        let metrics = StoreMetrics(try PrometheusRegistry(MetricCatalogue.all))
        let keys = StoreSamples.keys(StoreSamples.firstKey), afterReplies = AfterReplies(redis.node)
        let state = RedisFleetState(
            afterReplies, upstreams: upstreams, metrics: metrics,
            refreshes: AsyncStream.makeStream(of: Void.self).continuation,
            quotaPauses: RedisQuotaPauses(
                redis.node, names: StoreNames(keys.first), seal: StoreSeal(keys: keys), guards: upstreams.guards,
                metrics: metrics, changed: ChangedQuotaPauses()))
        let lifecycle = upstreams.lifecycle
        lifecycle.record(LifecycleDates(sunset: Self.sunset), links: [Self.link], of: .production)
        await state.exchange()
        let note = try redis.server.ask("GET", "gw:lifecycle:production")
        try redis.server.ask("SET", "gw:lifecycle:production", "1\(note.drop { $0 != " " })")
        // Redis has answered with the announcement, and this node has not read the answer.
        #expect(!lifecycle.recordAbsence(of: .production, at: Self.sunset))
        afterReplies.once {
            guard lifecycle.recordAbsence(of: .production, at: Self.sunset.advanced(by: .seconds(6 * 3600)))
            else { return }
            state.publish(.lifecycle(LifecycleDates(), links: []), of: .production)
        }
        await state.exchange()
        await state.exchange()
        #expect(lifecycle.state(of: .production).announced.sunset == nil)
        #expect(try redis.server.ask("GET", "gw:lifecycle:production").hasSuffix(#" {"links":[]}"#))
    }

    /// Runs an action between Redis's reply and its reader, once, for a command about the production endpoint's end.
    private final class AfterReplies: RedisCommands {
        private let redis: any RedisCommands
        private let action = Mutex<(@Sendable () -> Void)?>(nil)

        init(_ redis: any RedisCommands) { self.redis = redis }

        func once(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }

        func send(_ commands: [RedisCommand]) async -> RedisResults {
            let results = await redis.send(commands)
            if commands.contains(where: { $0.key == "gw:lifecycle:production" }) {
                action.withLock { $0.take() }?()
            }
            return results
        }
    }

    @Test func `a state that Redis lost is published again`() async throws {
        let redis = try await RealServer.redis()
        let node = try StoreNode(.test(redis))
        try await StoreNode.run([node]) {
            Self.learn(LifecycleDates(sunset: Self.sunset), node)
            try await eventually { try redis.ask("EXISTS", "gw:lifecycle:production") == "1" }
            try redis.ask("FLUSHALL")
            try redis.ask("SCRIPT", "FLUSH")
            try await eventually { try redis.ask("EXISTS", "gw:lifecycle:production") == "1" }
        }
    }

    @Test(arguments: [
        "", "1", "1 ", "x {}", "1 []", "1 {}", "1 null", #"1 {"links":{}}"#, #"1 {"sunset_ms":"1","links":[]}"#,
        #"1 {"sunset_ms":-1,"links":[]}"#, #"1 {"sunset_ms":253402300800000,"links":[]}"#, #"1 {"links":[1]}"#,
        #"1 {"links":[{"rel":"sunset","href":"/relative"}]}"#,
        #"1 {"links":[{"rel":"sunset","href":"javascript:alert(1)"}]}"#,
        #"1 {"links":[{"rel":"next","href":"https://example.com/"}]}"#,
        #"1 {"links":[{"rel":"sunset","href":"https://example.com/\r\nSet-Cookie: a=b"}]}"#,
        #"1 {"links":[{"rel":"sunset","href":"https://example.com/>; rel=\"x"}]}"#,
        #"12345678901234567 {"links":[]}"#, #"1 {"links":[]} "# + String(repeating: " ", count: 20_000),
        #"1 {"links":[\#(Array(repeating: #"{"rel":"sunset","href":"https://example.com/"}"#, count: 9).joined(separator: ","))]}"#,
    ])
    func `a note the gateway did not write is rejected`(value: String) {
        #expect(LifecycleUpdate(stamped: Array(value.utf8)) == nil)
    }

    @Test func `the longest note can be read`() {
        let target = "https://example.com/" + String(repeating: "x", count: 2028)
        let links = (0..<8).map { _ in LifecycleLink(.successorVersion, target: target) }
        let note = LifecycleUpdate(
            dates: LifecycleDates(deprecation: Timestamp(millisecondsSince1970: 1000), sunset: Self.sunset),
            links: links)
        #expect(LifecycleUpdate(stamped: Array("1700000000000 ".utf8) + note.json) == note)
    }

    @Test func `nodes know the number of live nodes`() async throws {
        let redis = try await RealServer.redis()
        let nodes = try (0..<2).map { _ in try StoreNode(.test(redis)) }
        try await StoreNode.run([nodes[0]]) {
            try await StoreNode.run([nodes[1]]) {
                for node in nodes { try await eventually { node.health.liveNodes == 2 } }
            }
            // A node that left is dropped at once, before its lifetime ends.
            try await eventually { nodes[0].health.liveNodes == 1 }
        }
        #expect(try redis.ask("ZCARD", "gw:nodes") == "0")
    }

    @Test func `a silent node is dropped, and so is one from the future`() async throws {
        let redis = try await RealServer.redis()
        try redis.ask("ZADD", "gw:nodes", "1000", "silent", "9999999999999", "future")
        let node = try StoreNode(.test(redis))
        try await StoreNode.run([node]) {
            let count = try redis.ask("ZCARD", "gw:nodes")
            #expect(count == "1")
            #expect(node.health.liveNodes == 1)
        }
    }
}
