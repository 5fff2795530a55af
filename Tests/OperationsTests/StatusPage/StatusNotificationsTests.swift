// SPDX-License-Identifier: Apache-2.0

import Customers
import Foundation
import Testing

@testable import Clients
@testable import Operations
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// Apple's notifications on the status page.
@Suite("Notifications on the status page")
struct StatusNotificationsTests {
    private static let app = "com.example.shop"

    private static func record(
        in sample: StatusSample, ofApp app: String = app, _ change: (inout QueueSurvey) -> Void = { _ in }
    ) {
        var first = QueueSurvey()
        change(&first)
        let others = [QueueSurvey](repeating: QueueSurvey(), count: AppPartition.count - 1)
        sample.notifications.record([first] + others, ofApp: app)
    }

    private static func count(_ outcome: IntakeOutcome, times: Int64 = 1, in sample: StatusSample) {
        let labels = ["v2", "posted", outcome.rawValue]
        sample.registry.counter(MetricCatalogue.notificationsReceived, labels).increment(by: times)
    }

    // MARK: - Tables

    @Test func `the tables appear once a store may keep notifications`() throws {
        let sample = try StatusSample()
        #expect(!StatusBoard(sample.sources).tableNames.contains("notifications"))
        Self.record(in: sample) { $0.fault = .volatile }
        #expect(!StatusBoard(sample.sources).tableNames.contains("notifications"), "there is no Redis")
        Self.record(in: sample)
        let names = StatusBoard(sample.sources).tableNames
        #expect(names.contains("notifications") && names.contains("notification_apps"))
    }

    @Test func `notifications that are refused for want of Redis are shown, too`() throws {
        let sample = try StatusSample(), board = StatusBoard(sample.sources)
        Self.count(.refused, in: sample)
        board.tick()
        #expect(board.tableNames.contains("notifications"))
    }

    @Test func `each app has its last notification, the pending ones and the dead letters`() throws {
        let sample = try StatusSample(), board = StatusBoard(sample.sources)
        Self.record(in: sample) {
            ($0.entries, $0.bytes, $0.oldestAge, $0.lastIntakeAge) = (2, 4096, .seconds(7), .seconds(90))
        }
        Self.record(in: sample, ofApp: "com.example.news") { ($0.entries, $0.deadLetters) = (1, 3) }
        Self.count(.stored, times: 4, in: sample)
        board.tick()
        let cells = board.cells, json = board.members
        #expect(cells["notification_apps.last_age_seconds.com.example.shop"]?.value == .span(.seconds(90)))
        #expect(cells["notification_apps.pending.com.example.shop"]?.value == .count(2))
        #expect(cells["notification_apps.last_age_seconds.com.example.news"]?.value == .span(nil))
        #expect(cells["notification_apps.dead_letters.com.example.news"]?.tone == .notable)
        #expect(cells["notifications.pending"]?.value == .count(3))
        #expect(cells["notifications.pending_bytes"]?.value == .bytes(4096))
        #expect(cells["notifications.oldest_pending_seconds"]?.value == .span(.seconds(7)))
        #expect(cells["notifications.store_fault"]?.value.text == "ready")
        guard case .rate(let rate?) = cells["notifications.stored"]?.value else {
            Issue.record("there is no rate")
            return
        }
        #expect(rate > 0)
        let apps = try #require(json["notification_apps"] as? [String: [String: Any]])
        #expect(apps["last_age_seconds"]?[Self.app] as? Int == 90)
        #expect((json["notifications"] as? [String: Any])?["store_fault"] is NSNull)
    }

    @Test func `a hostile name of an app stays text`() throws {
        let sample = try StatusSample()
        Self.record(in: sample, ofApp: #"a"><script>"#)
        let html = StatusBoard(sample.sources).page.html
        #expect(!html.contains(#"a"><script>"#))
        #expect(html.contains("notification_apps.pending.a&quot;&gt;&lt;script&gt;"))
    }

    @Test func `the number of apps is limited`() throws {
        let sample = try StatusSample()
        for number in 100..<160 { Self.record(in: sample, ofApp: "app\(number)") }
        let table = StatusBoard(sample.sources).page.report.tables.first { $0.heading.name == "notification_apps" }
        #expect(table?.rows.map(\.heading.name) == (100..<150).map { "app\($0)" })
    }

    // MARK: - Issues

    @Test func `what is refused, unknown or dead has its runbook`() throws {
        let sample = try StatusSample()
        let results = sample.issues {
            Self.count(.stored, times: 100, in: sample)
            Self.count(.refused, times: 2, in: sample)
            Self.count(.unknownApp, in: sample)
            Self.record(in: sample) { $0.fault = .evicts }
            sample.count(MetricCatalogue.notificationDeadLetters, DeadLetterReason.unreadable)
        }
        let runbooks: [StatusIssue.Runbook] = [
            .notificationsRefused, .notificationUnknownApp, .notificationDeadLetters,
        ]
        #expect(results.map(\.runbook) == runbooks)
        #expect(results.first?.advice.hasSuffix("The reason now is store_evicts.") == true)
    }

    @Test(arguments: [(2, 0, false), (3, 0, true), (3, 1, false)])
    func `a recovery is an issue if it fails repeatedly and never succeeds`(
        failed: Int64, succeeded: Int64, isIssue: Bool
    ) throws {
        let sample = try StatusSample()
        let results = sample.issues {
            sample.count(MetricCatalogue.notificationRecoveries, RecoveryOutcome.failed, times: failed)
            sample.count(MetricCatalogue.notificationRecoveries, RecoveryOutcome.succeeded, times: succeeded)
        }
        #expect(results.map(\.runbook) == (isIssue ? [.notificationRecoveryFailing] : []))
    }

    @Test(arguments: [(60, 800_000, false), (61, 0, true), (0, 900_000, true)])
    func `a backlog is an issue by its age and by its size`(seconds: Int, bytes: Int, isIssue: Bool) throws {
        let sample = try StatusSample { $0.notifications.backlog = .bytes(1_000_000) }
        Self.record(in: sample) { ($0.entries, $0.bytes, $0.oldestAge) = (1, bytes, .seconds(seconds)) }
        #expect(sample.issues().map(\.runbook) == (isIssue ? [.notificationBacklog] : []))
    }

    @Test(arguments: [(86_399, false), (86_400, true), (604_799, true), (604_800, false)])
    func `an app without notifications for a day is named, until a week has passed`(
        seconds: Int, isIssue: Bool
    ) throws {
        let sample = try StatusSample()
        Self.record(in: sample) { $0.lastIntakeAge = .seconds(seconds) }
        let results = sample.issues()
        #expect(results.map(\.runbook) == (isIssue ? [.notificationsSilent] : []))
        #expect(results.allSatisfy { $0.severity == .info && $0.text.contains(Self.app) })
    }
}
