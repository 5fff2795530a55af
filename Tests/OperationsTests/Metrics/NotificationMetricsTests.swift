// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import Customers
@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

/// The handling of notifications, in metrics and log.
struct NotificationMetricsTests {
    private static let start = SignedSamples.now

    private let lines = LogLines()
    private let clock = StandingClock(at: start)
    private let served = Mutexed<Set<String>>(["a", "b"])

    private func metrics(_ registry: PrometheusRegistry) -> NotificationMetrics {
        NotificationMetrics(registry, logger: lines.logger(), clock: { [clock] in clock.time })
    }

    // MARK: - Events

    @Test func `each event is counted by its words`() throws {
        let registry = try PrometheusRegistry(MetricCatalogue.all), metrics = metrics(registry)
        for event in [
            .received(.stored, .v2, .posted), .received(.duplicate, .v2, .history), .received(.invalid, nil, .posted),
            .refused(.replicas), .applied(changed: true, after: .milliseconds(40)),
            .applied(changed: false, after: .seconds(4)), .deadLetter(.unknownForm), .recovery(succeeded: true),
            .recovery(succeeded: false),
        ] as [NotificationEvent] { metrics.observe(event) }
        for line in [
            #"notifications_received_total{version="v2",origin="posted",outcome="stored"} 1"#,
            #"notifications_received_total{version="v2",origin="history",outcome="duplicate"} 1"#,
            #"notifications_received_total{version="unknown",origin="posted",outcome="invalid"} 1"#,
            #"notifications_refused_total{reason="replicas_missing"} 1"#,
            #"notifications_applied_total{effect="changed"} 1"#, #"notifications_applied_total{effect="unchanged"} 1"#,
            #"notification_apply_seconds_bucket{le="0.05"} 1"#, "notification_apply_seconds_sum 4.04",
            #"notification_dead_letters_total{reason="unknown_form"} 1"#,
            #"notification_recoveries_total{outcome="succeeded"} 1"#,
            #"notification_recoveries_total{outcome="failed"} 1"#,
        ] { #expect(registry.has(line), "\(line)") }
        #expect(registry.isDeclared)
    }

    @Test func `an unknown app is logged once an hour, and each dead letter`() throws {
        let metrics = metrics(try PrometheusRegistry(MetricCatalogue.all))
        for app in ["a", "a", "b"] { metrics.observe(.unknownApp(bundleID: app)) }
        #expect(lines.containing("not configured").count == 2)
        clock.advance(by: .seconds(3599))
        metrics.observe(.unknownApp(bundleID: "a"))
        #expect(lines.containing(#""bundle_id":"a""#).count == 1)
        clock.advance(by: .seconds(1))
        metrics.observe(.unknownApp(bundleID: "a"))
        #expect(lines.containing(#""bundle_id":"a""#).count == 2)
        for _ in 1...2 { metrics.observe(.deadLetter(.notGenuine)) }
        #expect(lines.containing("dead letters").count == 2)
    }

    @Test func `a store that may evict is one error in the log, however it is noticed`() throws {
        let metrics = metrics(try PrometheusRegistry(MetricCatalogue.all))
        metrics.report(nil)
        metrics.report(.unreachable)
        #expect(lines.containing("").isEmpty)
        metrics.report(.evicts)
        metrics.observe(.refused(.evicts))
        #expect(lines.containing(#""level":"error""#).count == 1)
    }

    @Test func `the subjects of a flood are forgotten after an hour, and bounded until then`() {
        var reported = ReportedSubjects()
        let reports = (0..<1000).count { reported.insert("\($0)", at: Self.start) }
        #expect(reports == ReportedSubjects.Limits.subjects)
        let isReported = reported.insert("late", at: Self.start.advanced(by: .seconds(3600)))
        #expect(isReported)
    }

    // MARK: - Surveys

    private func survey(_ change: (inout QueueSurvey) -> Void) -> [QueueSurvey] {
        var first = QueueSurvey()
        change(&first)
        return [first] + [QueueSurvey](repeating: QueueSurvey(), count: AppPartition.count - 1)
    }

    @Test func `the apps are added up, and each has the age of its last notification`() throws {
        try withSurveys { surveys, registry in
            surveys.record(
                survey {
                    ($0.entries, $0.bytes, $0.deadLetters) = (2, 300, 1)
                    ($0.oldestAge, $0.lastIntakeAge) = (.seconds(7), .seconds(3))
                }, ofApp: "a")
            surveys.record(survey { ($0.entries, $0.bytes, $0.oldestAge) = (1, 50, .seconds(2)) }, ofApp: "b")
            clock.advance(by: .seconds(5))
            for line in [
                "backlog_entries 3", "backlog_bytes 350", "dead_letters 1", "oldest_pending_seconds 7",
                #"last_age_seconds{bundle_id="a"} 8"#,
            ] { #expect(registry.has("notification_\(line)"), "\(line)") }
            #expect(!registry.text().contains(#"last_age_seconds{bundle_id="b"}"#))
        }
    }

    @Test func `the status page gets the same of each app, by name`() throws {
        try withSurveys { surveys, _ in
            surveys.record(survey { ($0.fault, $0.lastIntakeAge) = (.evicts, .seconds(3)) }, ofApp: "b")
            surveys.record(survey { ($0.entries, $0.bytes, $0.oldestAge) = (2, 300, .seconds(7)) }, ofApp: "a")
            clock.advance(by: .seconds(5))
            #expect(surveys.apps.map(\.bundleID) == ["a", "b"])
            #expect(surveys.apps.map(\.lastIntakeAge) == [nil, .seconds(8)])
            #expect(surveys.apps.map(\.fault) == [nil, .evicts])
            #expect(surveys.apps.first?.pending == 2 && surveys.apps.first?.pendingBytes == 300)
            #expect(surveys.apps.first?.oldestPendingAge == .seconds(7))
        }
    }

    @Test func `a survey that is not complete changes nothing, and an app that is no longer served is forgotten`()
        throws
    {
        try withSurveys { surveys, registry in
            surveys.record(survey { ($0.entries, $0.lastIntakeAge) = (1, .seconds(1)) }, ofApp: "a")
            surveys.record([], ofApp: "a")
            #expect(registry.has("notification_backlog_entries 1"))
            served.change { _ = $0.remove("a") }
            #expect(registry.has("notification_backlog_entries 0"))
            #expect(!registry.text().contains(#"bundle_id="a""#))
        }
    }

    private func withSurveys(_ test: (NotificationSurveys, PrometheusRegistry) throws -> Void) throws {
        let surveys = NotificationSurveys(
            isServed: { [served] app in served.now.contains(app) },
            clock: { [clock] in clock.time })
        let registry = try PrometheusRegistry(
            MetricCatalogue.all, readings: surveys.readings, series: [surveys.lastAges])
        try test(surveys, registry)
    }
}
