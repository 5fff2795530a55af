// SPDX-License-Identifier: Apache-2.0

import JSON
import Receipts
import Resilience
import Testing
import TestSupport

@testable import API
@testable import Gateway
@testable import HTTPServer
@testable import Operations
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

@Suite("GET /v1/status", .timeLimit(.patient))
struct StatusRouteTests {
    private var gateway: RunningGateway { .current }
    private static let sunset = Timestamp(millisecondsSince1970: 1_814_313_600_000)  // 2027-06-30

    @Test(.gateway) func `a gateway without requests to Apple has a brief status`() async throws {
        let answer = try await gateway.ask("GET /v1/status")
        let upstream = """
            {"enabled":false,"breaker":{"state":"closed","mode":"auto"},"requests_in_flight":0,\
            "concurrency_limit":20,"requests_waiting":0,\
            "lifecycle":{"stage":"current","sunset_ramp_ratio":0.0,"links":[]}}
            """
        #expect(
            answer?.body == """
                {"version":"\(Version.current)","status":"ready",\
                "store":{"state":"embedded","live_nodes":1},\
                "upstreams":{"production":\(upstream),"sandbox":\(upstream)}}
                """)
        #expect(answer?.headers["cache-control"] == "no-store")
    }

    @Test(arguments: [true, false]) func `the Server API has a member if an app has a key`(hasKey: Bool) async throws {
        let sample = try StatusSample { $0.apple.sunset = Self.sunset }
        let route = Route.status(
            ServerLifecycle(), store: { StoreStatus(sample.sources.health.store) }, sample.upstreams,
            isAppleEnabled: true, hasServerAPIKey: { hasKey },
            clock: { StatusSample.now })
        let reply = try await route.handler(try .forTests(), ReservedBody(nil, nil)).value()
        let body = reply.text
        let upstream = #""requests_waiting":0,"lifecycle":{"stage":"current","sunset_ramp_ratio":0.0,"links":[]}}"#
        #expect(body.contains(#""server_api":{"production":{"enabled":true,"#) == hasKey, "\(body)")
        #expect(body.contains(upstream) == hasKey, "the end of the settings is that of verifyReceipt: \(body)")
        #expect(body.contains(#""upstreams":{"production":{"enabled":true,"#))
    }

    @Test func `the status shows the configuration of Apple's endpoints`() async throws {
        try await RunningGateway.with {
            ($0.apple.isEnabled, $0.apple.breaker, $0.apple.sunset) = (false, .forcedOpen, Self.sunset)
        } _: { gateway in
            let body = try await gateway.ask("GET /v1/status")?.body ?? ""
            for member in [
                #""enabled":false"#, #""breaker":{"state":"open","mode":"forced_open"}"#,
                #""sunset":"2027-06-30T00:00:00Z","sunset_ms":1814313600000"#,
            ] { #expect(body.contains(member), "\(body)") }
        }
    }

    @Test(.gateway) func `a draining gateway reports draining`() async throws {
        gateway.server.lifecycle.advance(to: .draining)
        let answer = try await gateway.ask("GET /v1/status")
        #expect(answer?.body.contains(#""status":"draining""#) == true)
    }

    @Test func `failures and announcements are reported, with times rounded up`() {
        let health = UpstreamHealth(
            breaker: .open, breakerMode: .auto, breakerOpensFor: .milliseconds(6001), pausedFor: .milliseconds(1),
            inFlight: 3, concurrencyLimit: 20, waiting: 2, budgetRemaining: 0)
        let announced = LifecycleDates(deprecation: Timestamp(millisecondsSince1970: 1500), sunset: Self.sunset)
        let state = UpstreamLifecycle.State(
            dates: LifecycleDates(deprecation: Timestamp(millisecondsSince1970: 0), sunset: Self.sunset),
            announced: announced, links: [LifecycleLink(.successorVersion, target: "https://new.example/")])
        var json = JSONWriter()
        json.upstream(isEnabled: true, health, state, at: Self.sunset.advanced(by: .seconds(-3 * 86_400)))
        #expect(
            String(decoding: json.bytes, as: UTF8.self) == """
                {"enabled":true,"breaker":{"state":"open","mode":"auto","opens_for_seconds":7},\
                "paused_for_seconds":1,"requests_in_flight":3,"concurrency_limit":20,"requests_waiting":2,\
                "budget_remaining":0,"lifecycle":{"stage":"drained","sunset_ramp_ratio":1.0,\
                "deprecation":"1970-01-01T00:00:00Z","deprecation_ms":0,\
                "sunset":"2027-06-30T00:00:00Z","sunset_ms":1814313600000,\
                "announced":{"deprecation":"1970-01-01T00:00:01.500Z","deprecation_ms":1500,\
                "sunset":"2027-06-30T00:00:00Z","sunset_ms":1814313600000},\
                "links":[{"rel":"successor-version","href":"https://new.example/"}]}}
                """)
    }
}
