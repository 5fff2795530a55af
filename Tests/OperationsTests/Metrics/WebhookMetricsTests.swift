// SPDX-License-Identifier: Apache-2.0

import Customers
import Testing

@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

/// The delivery of webhooks, in metrics and log.
struct WebhookMetricsTests {
    private let lines = LogLines()
    private let clock = StandingClock(at: SignedSamples.now)
    private let current = Mutexed<Set<String>>(["shop/a", "shop/b"])
    private let surveys: WebhookSurveys
    private let registry: PrometheusRegistry
    private let metrics: WebhookMetrics

    init() throws {
        let endpoints: @Sendable () -> Set<String> = { [current] in current.now }
        let counts = WebhookCounts(endpoints: endpoints)
        surveys = WebhookSurveys(endpoints: endpoints)
        registry = try PrometheusRegistry(MetricCatalogue.all, series: counts.series + surveys.series)
        metrics = WebhookMetrics(registry, counts: counts, logger: lines.logger(), clock: { [clock] in clock.time })
    }

    private func has(_ line: String) -> Bool { registry.has("webhook_\(line)") }

    // MARK: - Events

    @Test func `each event is counted for its endpoint`() {
        for event in [
            .delivered(endpoint: "shop/a", after: .milliseconds(200), took: .milliseconds(20)),
            .delivered(endpoint: "shop/a", after: .seconds(7200), took: .milliseconds(20)),
            .failed(endpoint: "shop/a", .timeout), .failed(endpoint: "shop/a", .timeout),
            .failed(endpoint: "shop/b", .tls), .dead(endpoint: "shop/b", .tls), .missed(endpoint: "shop/b", count: 40),
            .missed(endpoint: "shop/b", count: nil), .disabled(endpoint: "shop/b"),
        ] as [WebhookEvent] { metrics.observe(event) }
        for line in [
            #"deliveries_total{endpoint="shop/a",outcome="delivered"} 2"#,
            #"deliveries_total{endpoint="shop/a",outcome="failed"} 2"#,
            #"deliveries_total{endpoint="shop/a",outcome="dead"} 0"#,
            #"deliveries_total{endpoint="shop/b",outcome="dead"} 1"#,
            #"failures_total{endpoint="shop/a",reason="timeout"} 2"#,
            #"failures_total{endpoint="shop/b",reason="tls"} 1"#,
            #"failures_total{endpoint="shop/b",reason="timeout"} 0"#, #"missed_events_total{endpoint="shop/a"} 0"#,
            #"missed_events_total{endpoint="shop/b"} 41"#, #"delivery_seconds_bucket{le="0.25"} 1"#,
            "delivery_seconds_sum 7200.2", "delivery_seconds_count 2",
        ] { #expect(has(line), "\(line)") }
        #expect(registry.isDeclared)
        #expect(registry.text().contains("\n# TYPE receipt_gateway_webhook_failures_total counter\n"))
    }

    @Test func `the events of the log are counted by type`() throws {
        let registry = try PrometheusRegistry(MetricCatalogue.all)
        let notifications = NotificationMetrics(
            registry, logger: .silent, clock: { SignedSamples.now })
        for type in [EventType.subscriptionRenewed, .subscriptionRenewed, .unknown] {
            notifications.observe(.event(type))
        }
        #expect(registry.has(#"events_total{type="subscription.renewed"} 2"#))
        #expect(registry.has(#"events_total{type="unknown"} 1"#))
        #expect(registry.has(#"events_total{type="family.revoked"} 0"#))
    }

    @Test func `the series of an endpoint exist from the start, and end with it`() {
        let reason = #"failures_total{endpoint="shop/a",reason="gone"} 0"#
        #expect(has(reason))
        metrics.observe(.failed(endpoint: "shop/a", .gone))
        surveys.record([survey { $0.held = 3 }], ofEndpoint: "shop/a")
        current.change { _ = $0.remove("shop/a") }
        #expect(!registry.text().contains(#"endpoint="shop/a""#) && registry.text().contains(#"endpoint="shop/b""#))
        // A delivery that was in flight.
        metrics.observe(.failed(endpoint: "shop/a", .gone))
        surveys.record([], ofEndpoint: "shop/b")
        current.change { _ = $0.insert("shop/a") }
        #expect(has(reason) && surveys.endpoints.map(\.name) == ["shop/b"])
    }

    @Test func `the most endpoints of a clients file fit into a scrape`() {
        let names = (0..<64).map { "shop/\($0)" }
        current.change { $0 = Set(names) }
        let lines = registry.text().split(separator: "\n")
        #expect(
            lines.count { $0.hasPrefix("receipt_gateway_webhook_failures_total{") } == 64 * DeliveryFault.allCases.count
        )
    }

    @Test func `numbers that add up beyond 64 bits end no node`() {
        for _ in 1...2 { metrics.observe(.missed(endpoint: "shop/a", count: .max)) }
        #expect(registry.text().contains(#"receipt_gateway_webhook_missed_events_total{endpoint="shop/a"} 1"#))
    }

    // MARK: - The log

    @Test func `a line names the endpoint and the remedy, once an hour for each subject`() {
        for _ in 1...3 {
            for endpoint in ["shop/a", "shop/b"] {
                metrics.observe(.dead(endpoint: endpoint, .timeout))
                metrics.observe(.disabled(endpoint: endpoint))
                metrics.observe(.missed(endpoint: endpoint, count: 7))
            }
        }
        #expect(lines.containing(#""level":"warning""#).count == 6)
        #expect(lines.containing(#""endpoint":"shop/a""#).count == 3)
        #expect(lines.containing("events redeliver").allSatisfy { $0.contains(#""reason":"timeout""#) })
        #expect(lines.containing("410 Gone").count == 2)
        #expect(lines.containing(#""count":"7""#).count == 2)
        clock.advance(by: .seconds(3600))
        metrics.observe(.missed(endpoint: "shop/a", count: nil))
        #expect(lines.containing(#""count":"unknown""#).count == 1)
    }

    @Test func `deliveries and failures have no lines`() {
        metrics.observe(.delivered(endpoint: "shop/a", after: .zero, took: .zero))
        metrics.observe(.failed(endpoint: "shop/a", .timeout))
        #expect(lines.containing("").isEmpty)
    }

    // MARK: - Surveys

    private func survey(_ change: (inout DeliverySurvey) -> Void) -> DeliverySurvey {
        var survey = DeliverySurvey()
        change(&survey)
        return survey
    }

    @Test func `the queues of an endpoint are added up`() {
        surveys.record(
            [
                survey { ($0.held, $0.dead, $0.lag) = (2, 1, .seconds(7)) },
                survey { ($0.held, $0.lag, $0.disabledAt) = (3, .seconds(90), SignedSamples.now) },
                survey { $0.unread = 4 },
            ], ofEndpoint: "shop/b")
        surveys.record([survey { _ in }], ofEndpoint: "shop/a")
        for line in [
            #"held_events{endpoint="shop/b"} 5"#, #"dead_events{endpoint="shop/b"} 1"#,
            #"lag_seconds{endpoint="shop/b"} 90"#, #"endpoint_disabled{endpoint="shop/b"} 1"#,
            #"held_events{endpoint="shop/a"} 0"#, #"lag_seconds{endpoint="shop/a"} 0"#,
            #"endpoint_disabled{endpoint="shop/a"} 0"#,
        ] { #expect(has(line), "\(line)") }
        #expect(surveys.endpoints.map(\.name) == ["shop/a", "shop/b"])
        #expect(surveys.endpoints.last?.unread == 4 && surveys.endpoints.last?.disabledAt == SignedSamples.now)
    }
}
