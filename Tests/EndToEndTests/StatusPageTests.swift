// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealServers
import Testing
import TestSupport

@testable import LoadTest

/// The status page of real gateways in a real browser.
@Suite(
    .serialized, .timeLimit(.patient),
    .enabled(if: Browser.isInstalled, "chromium-headless-shell is missing: .ci/deps test installs it"))
struct StatusPageTests {
    private var stage: Stage { .current }

    @Test func `the page shows the values of the JSON, updates by itself, and causes no browser errors`() async throws {
        let settings = [
            "GATEWAY_APPLE_SUNSET": "2999-12-31", "GATEWAY_APPLE_MAX_REQUESTS_PER_SECOND": "77",
            "GATEWAY_APPLE_CONCURRENCY": "123",
        ]
        try await withStage("", settings) { stage in
            let tab = try await BrowserTab(stage.gateway.statusPage)
            try await tab.isLive()
            let clock = try await tab.text(of: "clock")
            try await eventually("the next beat is shown") { try await tab.text(of: "clock") != clock }
            for _ in 0..<5 { #expect(try await stage.verify(Sample.receipt(0)).isApples) }
            try await eventually("verdicts are shown") { try await tab.text(of: "verdicts.all.genuine") != "0/s" }
            try await Self.expect(tab, toShow: stage.gateway.get("/status.json", port: stage.gateway.adminPort).json)
            #expect(try await tab.value(of: "document.querySelectorAll('#plot-verdicts path').length") == "3")
            #expect(try await tab.text(of: "configuration").contains("\ngateway.apple.shared_secret: <redacted>\n"))
            #expect(tab.complaints == [])
        }
    }

    /// Checks the values that do not change between updates.
    private static func expect(_ tab: BrowserTab, toShow json: [String: Any]) async throws {
        let places =
            ["node.stage", "redis.state", "redis.live_nodes"]
            + ["production", "sandbox"].flatMap { endpoint in
                ["apple.\(endpoint).breaker", "sunset.\(endpoint).stage", "sunset.\(endpoint).sunset"]
            }
        for place in places {
            let value = place.split(separator: ".").reduce(json as Any?) { ($0 as? [String: Any])?[String($1)] }
            let text = try #require(value.map { "\($0)" }, "\(place)")
            let shown = try await tab.text(of: place)
            let meant = ["embedded": "none: this node runs alone", "2999-12-31T00:00:00Z": "2999-12-31"][text] ?? text
            #expect(shown == meant, "\(place)")
        }
        #expect(try await tab.text(of: "apple.sandbox.budget_remaining") == "77")
        #expect(try await tab.text(of: "word") == "Healthy")
    }

    @Test(.stage("faults: [{fault: reset}]")) func `an open breaker is shown, with its runbook`() async throws {
        let tab = try await BrowserTab(stage.gateway.statusPage)
        try await tab.isLive()
        try await eventually("the breaker opens") {
            try await stage.verify(Sample.receipt(0)).isLabelled("circuit_open")
        }
        try await eventually("the page says so") { try await tab.text(of: "apple.production.breaker").contains("open") }
        #expect(try await tab.text(of: "word") == "Degraded")
        #expect(try await tab.text(of: "issues").contains("ReceiptGatewayCircuitBreakerOpen"))
        #expect(tab.complaints == [])
    }

    @Test func `two nodes see each other, and both show the loss of Redis`() async throws {
        let redis = try await RealServer.redis()
        let settings = [
            "GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)", "GATEWAY_CACHE_KEYS": Fleet.cacheKeys,
        ]
        let nodes = [try await RunningGateway(settings), try await RunningGateway(settings)]
        let tabs = [try await BrowserTab(nodes[0].statusPage), try await BrowserTab(nodes[1].statusPage)]
        for tab in tabs {
            try await eventually("a node knows the other") { try await tab.text(of: "redis.live_nodes") == "2" }
            try await eventually("Redis is there") { try await tab.text(of: "redis.state") == "connected" }
        }
        redis.kill()
        for tab in tabs {
            try await eventually("a node is alone") { try await tab.text(of: "redis.state").contains("unavailable") }
            #expect(try await tab.text(of: "word") == "Degraded")
            #expect(try await tab.text(of: "issues").contains("ReceiptGatewayRedisUnavailable"))
            #expect(tab.complaints == [])
        }
        for node in nodes { #expect(await node.stop() == 0) }
    }

    @Test func `nothing secret is shown`() async throws {
        let folder = try ScratchFolder()
        let clients = try await FleetClients([("very-private-client", "")], in: folder)
        let secrets = [
            "GATEWAY_APPLE_SHARED_SECRET": Sample.secret, "GATEWAY_CACHE_KEYS": Fleet.cacheKeys,
            "GATEWAY_REDIS_PASSWORD": "a-password-of-redis",
        ]
        let settings = ["GATEWAY_REDIS_URL": "redis://private-login@127.0.0.1:1"].merging(clients.settings) { $1 }
        let gateway = try await RunningGateway(settings.merging(secrets) { $1 })
        let keys = Array(clients.keys.values)
        #expect(try await gateway.verify(Sample.receipt(0), key: keys[0]).status == 200)
        for path in ["/", "/status.json"] {
            let text = String(decoding: try await gateway.get(path, port: gateway.adminPort).body, as: UTF8.self)
            #expect(text.contains("receipt-gateway") || text.contains("verdict"))
            for secret in secrets.values + keys + ["very-private-client", "private-login", Sample.bundleID] {
                #expect(!text.contains(secret), "\(path) shows \(secret)")
            }
        }
        #expect(await gateway.stop() == 0)
    }

    @Test func `a node with a viewer stops at once, and the page says that it is no longer live`() async throws {
        // If the gateway waited for the viewer, this would take ten minutes.
        let gateway = try await RunningGateway(["GATEWAY_SHUTDOWN_GRACE": "600s"])
        let tab = try await BrowserTab(gateway.statusPage)
        try await tab.isLive()
        #expect(await gateway.stop() == 0)
        try await eventually("the page notices") { try await tab.text(of: "live") == "Not live, as of" }
    }
}

extension RunningGateway {
    fileprivate var statusPage: String { "http://127.0.0.1:\(adminPort)/" }
}

extension BrowserTab {
    /// Returns the text of the element with this name; empty if there is none.
    fileprivate func text(of name: String) async throws -> String {
        try await value(of: "document.getElementById('\(name)')?.textContent ?? ''")
    }

    /// Waits until the page receives updates.
    fileprivate func isLive() async throws {
        try await eventually("the page is live") { try await text(of: "live") == "Live, as of" }
    }
}
