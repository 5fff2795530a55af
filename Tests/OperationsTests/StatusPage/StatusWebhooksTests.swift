// SPDX-License-Identifier: Apache-2.0

import Customers
import Foundation
import Receipts
import Testing

@testable import Operations
@testable import ServerTestSupport
@testable import Telemetry

/// Webhooks on the status page.
@Suite("Webhooks on the status page")
struct StatusWebhooksTests {
    private static let name = "shop/crm"

    private static func record(
        in sample: StatusSample, of name: String = name, _ change: (inout DeliverySurvey) -> Void = { _ in }
    ) {
        var survey = DeliverySurvey()
        change(&survey)
        sample.webhooks.record([survey, DeliverySurvey()], ofEndpoint: name)
    }

    // MARK: - The table

    @Test func `there is no table without endpoints`() throws {
        let sample = try StatusSample()
        #expect(!StatusBoard(sample.sources).tableNames.contains("webhooks"))
    }

    @Test func `each endpoint has its lag, its events and its last failure`() throws {
        let sample = try StatusSample(webhooks: [Self.name, "shop/bi"])
        Self.record(in: sample) {
            ($0.lag, $0.unread, $0.held, $0.dead) = (.seconds(400), 30, 4, 2)
            $0.disabledAt = StatusSample.now.advanced(by: .seconds(-60))
        }
        Self.record(in: sample, of: "shop/bi")
        sample.webhookMetrics.observe(.failed(endpoint: Self.name, .timeout))
        let board = StatusBoard(sample.sources), cells = board.cells
        #expect(cells["webhooks.lag_seconds.shop/crm"] == .init(.span(.seconds(400)), .bad))
        #expect(cells["webhooks.unread.shop/crm"]?.value == .count(30))
        #expect(cells["webhooks.held.shop/crm"]?.value == .count(4))
        #expect(cells["webhooks.dead.shop/crm"] == .init(.count(2), .notable))
        #expect(cells["webhooks.disabled_seconds.shop/crm"] == .init(.span(.seconds(60)), .bad))
        #expect(cells["webhooks.last_failure.shop/crm"]?.value == .word("timeout"))
        #expect(cells["webhooks.last_failure_seconds.shop/crm"]?.value == .span(.zero))
        #expect(cells["webhooks.lag_seconds.shop/bi"] == .init(.span(.zero)))
        #expect(cells["webhooks.last_failure.shop/bi"]?.value.text == "none")
        let webhooks = try #require(board.members["webhooks"] as? [String: [String: Any]])
        #expect(webhooks["lag_seconds"]?[Self.name] as? Int == 400)
        #expect(webhooks["disabled_seconds"]?["shop/bi"] is NSNull)
    }

    // MARK: - Issues

    @Test func `an endpoint in order is no issue`() throws {
        let sample = try StatusSample(webhooks: [Self.name])
        Self.record(in: sample) { ($0.lag, $0.unread) = (.seconds(2), 1) }
        sample.webhookMetrics.observe(Self.delivered)
        #expect(sample.issues() == [])
    }

    private static let failed = WebhookEvent.failed(endpoint: name, .connect)
    private static let delivered = WebhookEvent.delivered(endpoint: name, after: .seconds(1), took: .seconds(1))

    @Test(
        arguments: [
            (failed, 60, []), (failed, 61, [.webhookFailing]), (failed, 301, [.webhookFailing]), (delivered, 300, []),
            (delivered, 301, [.webhookLagHigh]),
        ] as [(WebhookEvent, Int, [StatusIssue.Runbook])])
    func `an endpoint whose last attempt failed is an issue after a minute, and one that is late after five`(
        last: WebhookEvent, seconds: Int, runbooks: [StatusIssue.Runbook]
    ) throws {
        let sample = try StatusSample(webhooks: [Self.name])
        Self.record(in: sample) { $0.lag = .seconds(seconds) }
        sample.webhookMetrics.observe(last)
        #expect(sample.issues().map(\.runbook) == runbooks)
    }

    @Test func `a disabled endpoint, missed events and dead ones have their runbooks`() throws {
        let sample = try StatusSample(webhooks: [Self.name])
        Self.record(in: sample) {
            ($0.disabledAt, $0.dead, $0.lag) = (StatusSample.now, 3, .seconds(900))
        }
        sample.webhookMetrics.observe(.missed(endpoint: Self.name, count: 5))
        let issues = sample.issues()
        #expect(issues.map(\.runbook) == [.webhookDisabled, .eventsMissed, .webhookDeadEvents])
        #expect(issues.map(\.severity) == [.warning, .warning, .info])
        #expect(issues.allSatisfy { $0.text.contains(Self.name) })
        #expect(issues.last?.text.hasPrefix("3 events") == true)
    }

    // MARK: - Last attempts

    @Test func `a success ends the failing, and is kept apart from the last failure`() {
        var last = LastAttempts()
        #expect(!last.isFailing)
        last.failedAt = StatusSample.now
        #expect(last.isFailing)
        last.deliveredAt = StatusSample.now.advanced(by: .seconds(-1))
        #expect(last.isFailing)
        last.deliveredAt = StatusSample.now.advanced(by: .seconds(1))
        #expect(!last.isFailing)
    }
}
