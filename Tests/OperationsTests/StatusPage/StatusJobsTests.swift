// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Testing

@testable import Operations
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// Deferred verifications on the status page.
@Suite("Deferred verifications on the status page")
struct StatusJobsTests {
    private static func record(in sample: StatusSample, _ change: (inout JobSurvey) -> Void) {
        var survey = JobSurvey()
        change(&survey)
        sample.jobMetrics.observe(.surveyed(survey))
    }

    /// Counts an answer of Apple.
    private static func answer(_ sample: StatusSample) {
        let labels = EndpointLabels(UpstreamEndpoint(.verifyReceipt, .production), UpstreamOutcome.answered)
        sample.count(MetricCatalogue.upstreamRequests, labels)
    }

    // MARK: - The table

    @Test func `there is no table before the first deferred verification`() throws {
        let sample = try StatusSample()
        Self.record(in: sample) { _ in }
        #expect(!StatusBoard(sample.sources).tableNames.contains("deferred_verifications"))
    }

    @Test func `the table has what waits and what was given up`() throws {
        let sample = try StatusSample()
        Self.record(in: sample) { ($0.waiting, $0.bytes, $0.oldestAge, $0.failed) = (12, 4096, .seconds(7201), 1) }
        let cells = StatusBoard(sample.sources).cells
        #expect(cells["deferred_verifications.waiting"]?.value == .count(12))
        #expect(cells["deferred_verifications.waiting_bytes"]?.value == .bytes(4096))
        #expect(
            cells["deferred_verifications.oldest_seconds"] == .init(.span(.seconds(7201)), .notable))
        #expect(cells["deferred_verifications.failed"] == .init(.count(1), .notable))
        #expect(cells["deferred_verifications.lost"] == .init(.count(0)))
    }

    // MARK: - Issues

    @Test(arguments: [(7200, true, false), (7201, true, true), (7201, false, false)])
    func `a verification that waits for two hours is an issue while Apple answers`(
        seconds: Int, answers: Bool, isIssue: Bool
    ) throws {
        let sample = try StatusSample()
        Self.record(in: sample) { ($0.waiting, $0.oldestAge) = (1, .seconds(seconds)) }
        let issues = sample.issues { if answers { Self.answer(sample) } }
        #expect(issues.map(\.runbook) == (isIssue ? [.deferredVerificationsStalled] : []))
    }

    @Test(arguments: [(1800, false), (1801, true)])
    func `half of the time is an issue also while Apple is down`(seconds: Int, isIssue: Bool) throws {
        let sample = try StatusSample { $0.jobs.maximumAge = .seconds(3600) }
        Self.record(in: sample) { ($0.waiting, $0.oldestAge) = (1, .seconds(seconds)) }
        #expect(sample.issues().map(\.runbook) == (isIssue ? [.deferredVerificationsStalled] : []))
    }

    @Test func `refused and lost verifications have their runbooks`() throws {
        let sample = try StatusSample()
        let issues = sample.issues {
            sample.jobMetrics.observe(.refused(.clientLimit))
            sample.jobMetrics.observe(.refused(.totalLimit))
            sample.jobMetrics.observe(.refused(.storeUnreachable))
            sample.jobMetrics.observe(.ended(.expired, after: .seconds(9)))
            sample.jobMetrics.observe(.ended(.done, after: .seconds(9)))
        }
        #expect(issues.map(\.runbook) == [.deferredVerificationsRefused, .deferredVerificationsFailed])
        #expect(issues.map(\.severity) == [.warning, .warning])
        #expect(issues.map { $0.text.prefix(2) } == ["2 ", "1 "])
    }

    @Test func `one that was given up earlier stays an info`() throws {
        let sample = try StatusSample()
        Self.record(in: sample) { $0.failed = 3 }
        let issues = sample.issues()
        #expect(issues.map(\.severity) == [.info] && issues.map(\.runbook) == [.deferredVerificationsFailed])
    }
}
