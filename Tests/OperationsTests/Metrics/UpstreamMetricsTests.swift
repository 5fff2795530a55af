// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import Clients
@testable import Gateway
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// The events of requests to Apple, in metrics and log.
struct UpstreamMetricsTests {
    private let lines = LogLines()
    private let registry: PrometheusRegistry
    private let metrics: UpstreamMetrics

    init() throws {
        registry = try PrometheusRegistry(MetricCatalogue.all)
        metrics = UpstreamMetrics(registry, logger: lines.logger())
    }

    private static let production = UpstreamEndpoint(.serverAPI, .production)

    @Test func `a call is counted by operation, environment and outcome`() {
        metrics.observe(.called(.refundHistory, .sandbox, .notFound))
        metrics.observe(.called(.refundHistory, .sandbox, .notFound))
        metrics.observe(.called(.transactionHistory, .production, .budget))
        metrics.observe(.unknownTransaction)
        for line in [
            #"server_api_calls_total{operation="refund_history",environment="sandbox",outcome="not_found"} 2"#,
            #"server_api_calls_total{operation="refund_history",environment="production",outcome="budget"} 0"#,
            #"server_api_calls_total{operation="transaction_history",environment="production",outcome="budget"} 1"#,
            "unknown_transaction_ids_total 1",
        ] { #expect(registry.has(line), "\(line)") }
        #expect(
            !registry.text().contains(#"environment="production",outcome="not_found""#), "no event, and no rule uses it"
        )
    }

    @Test func `the series of the Server API's calls stay few`() {
        // Each is a line of each scrape.
        #expect(MetricCatalogue.serverAPICalls.labelSets.count <= 418)
    }

    /// All events whose labels have a closed vocabulary.
    private static let events: [UpstreamEvent] = {
        // Not one expression, which takes the compiler nine seconds.
        var events: [UpstreamEvent] = DegradedReason.allCases.map { .degraded($0) }
        events.append(.rejected(production, .serverAPIKeyRejected))
        for endpoint in UpstreamEndpoint.allCases {
            events += [.retried(endpoint), .unproven(endpoint)]
            for outcome in UpstreamOutcome.allCases { events.append(.completed(endpoint, outcome, took: .zero)) }
            for rejection in LocalRejection.allCases { events.append(.rejected(endpoint, rejection.reason)) }
            for contradiction in Contradiction.allCases { events.append(.contradicted(endpoint, contradiction)) }
        }
        for operation in ServerAPIOperation.allCases {
            for environment in UpstreamEnvironment.allCases {
                for outcome in ServerAPICallOutcome.allCases {
                    events.append(.called(operation, environment, outcome))
                }
            }
        }
        return events
    }()

    @Test func `every event has a declared series`() {
        for event in Self.events { metrics.observe(event) }
        #expect(registry.isDeclared)
    }

    @Test(arguments: UpstreamAPI.allCases) func `log lines name the interface`(api: UpstreamAPI) throws {
        for (contradiction, level) in [(Contradiction.otherApp, "error"), (.periodNotSigned, "warning")] {
            metrics.observe(.contradicted(UpstreamEndpoint(api, .sandbox), contradiction))
            let line = try #require(lines.containing(#""contradiction":"\#(contradiction.rawValue)""#).last)
            #expect(line.contains(#""api":"\#(api.rawValue)""#) && line.contains(#""upstream":"sandbox""#))
            #expect(line.contains(level), "\(line)")
        }
        metrics.observe(.leftOut(UpstreamEndpoint(api, .sandbox), UnreadableItem(fault: "odd")))
        #expect(lines.containing("odd").count == 1)
    }

    // MARK: - Values read at a scrape

    @Test func `without a client there is no paused key, and no clock skew`() throws {
        let readings = ServerAPIReadings()
        let registry = try PrometheusRegistry(
            MetricCatalogue.all, readings: readings.readings, series: [readings.pausedKeys])
        let text = registry.text()
        #expect(text.contains("\n# TYPE receipt_gateway_server_api_key_paused gauge\n"))
        #expect(!text.contains("\nreceipt_gateway_server_api_key_paused"))
        #expect(text.contains("\nreceipt_gateway_server_api_clock_skew_seconds{environment=\"production\"} 0\n"))
    }

    @Test func `an app without a key has a series, until it has one`() throws {
        let apps = Mutex(["com.example.b", "com.example.a"])
        let registry = try PrometheusRegistry(
            MetricCatalogue.all, series: [ServerAPIReadings.appsWithoutKey { apps.withLock(\.self) }])
        func lines() -> [Substring] {
            registry.text().split(separator: "\n").filter { $0.hasPrefix("receipt_gateway_app_without_server_api_key") }
        }
        #expect(
            lines()
                == ["a", "b"].map { #"receipt_gateway_app_without_server_api_key{bundle_id="com.example.\#($0)"} 1"# }
        )
        apps.withLock { $0 = [] }
        #expect(lines() == [])
    }

    @Test(arguments: [true, false])
    func `the metrics list the apps without a key, unless Apple is disabled`(isEnabled: Bool) async throws {
        try await RunningGateway.withClient(
            APIKey.random(), "apps: [com.example.shop]", change: { $0.apple.isEnabled = isEnabled }
        ) { gateway in
            let line = #"app_without_server_api_key{bundle_id="com.example.shop"} 1"#
            #expect(gateway.server.metrics.has(line) == isEnabled)
        }
    }

    @Test func `the dates of the settings are those of verifyReceipt`() {
        let sunset = StatusSample.now
        let lifecycle = UpstreamLifecycle(configured: LifecycleDates(sunset: sunset))
        #expect(lifecycle.state(of: UpstreamEndpoint(.verifyReceipt, .sandbox)).dates.sunset == sunset)
        #expect(lifecycle.state(of: Self.production).dates == LifecycleDates())
        lifecycle.record(LifecycleDates(deprecation: sunset), links: [], of: Self.production)
        #expect(lifecycle.state(of: Self.production).dates == LifecycleDates(deprecation: sunset))
    }
}
