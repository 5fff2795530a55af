// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts
internal import Telemetry

// Deferred verifications: the rates are this node's, the jobs in the store are the whole fleet's.
extension StatusSources {
    private typealias Row = StatusTable.Row

    /// The table about deferred verifications; nil until there was a job, at this node or in the store.
    func jobTable(_ windows: StatusWindows) -> StatusTable? {
        let survey = jobs.last ?? JobSurvey(), (minute, all) = (windows.minute, windows.all)
        guard survey.waiting + survey.failed + all.count(.jobCounts) > 0 else { return nil }
        let refused = all.count(.jobsRefused), lost = all.count(.jobsLost), oldest = survey.oldestAge ?? .zero
        return StatusTable(
            heading: .init("deferred_verifications", "Deferred verifications"), note: "rates of the last minute",
            columns: StatusTable.onlyColumn,
            rows: [
                Row("created", "Deferred", .rate(minute.rate(.jobsCreated))),
                Row("done", "Ended with a verdict", .rate(minute.rate(.jobsDone))),
                Row("time_p50", "Until the verdict, p50", .latency(minute.quantile(0.5, of: .jobs))),
                Row("waiting", "Waiting", .count(survey.waiting)),
                Row("waiting_bytes", "their size", .bytes(survey.bytes)),
                Row(
                    "oldest_seconds", "the oldest, since", .span(survey.oldestAge),
                    oldest > StatusThresholds.oldestJob ? .notable : .plain),
                Row("refused", "Refused by a limit, in 10 min", .count(refused), refused > 0 ? .notable : .plain),
                Row("lost", "Ended without a verdict, in 10 min", .count(lost), lost > 0 ? .bad : .plain),
                Row("failed", "Failed ones, kept", .count(survey.failed), survey.failed > 0 ? .notable : .plain),
            ])
    }
}

// MARK: - Issues

extension StatusSources {
    func jobIssues(_ windows: StatusWindows) -> [StatusIssue?] {
        let survey = jobs.last ?? JobSurvey(), all = windows.all
        let refused = all.count(.jobsRefused), lost = all.count(.jobsLost)
        return [
            stalledIssue(survey, windows.minute),
            StatusIssue(
                if: refused > 0, .warning, "\(refused) verifications in ten minutes could not be deferred.",
                "Too many wait. Clients get 429 or 503, or an answer without Apple.", .deferredVerificationsRefused),
            StatusIssue(
                if: lost > 0, .warning, "\(lost) deferred verifications in ten minutes ended without a verdict.",
                "The backend must send these purchases again. The metrics count the reasons.",
                .deferredVerificationsFailed),
            StatusIssue(
                if: lost == 0 && survey.failed > 0, .info, "\(survey.failed) deferred verifications were given up.",
                "receipt-gateway verifications list --status failed shows them.", .deferredVerificationsFailed),
        ]
    }

    private func stalledIssue(_ survey: JobSurvey, _ minute: StatusWindow) -> StatusIssue? {
        let oldest = survey.oldestAge ?? .zero
        let answered = UpstreamEndpoint.allCases.reduce(0) { $0 + minute.count(.answered($1)) }
        let isLate = oldest > StatusThresholds.oldestJob && answered > 0
        return StatusIssue(
            if: isLate || oldest > maximumJobAge / 2, .warning,
            "\(survey.waiting) deferred verifications wait, the oldest for \(StatusValue.span(oldest).text).",
            "They expire after \(StatusValue.span(maximumJobAge).text). Check the connection to Apple and its budget.",
            .deferredVerificationsStalled)
    }
}

extension StatusThresholds {
    /// As in the alert.
    fileprivate static let oldestJob: Duration = .seconds(2 * 3600)
}

extension [StatusCount] {
    /// Every count about deferred verifications.
    fileprivate static let jobCounts: [StatusCount] = [.jobsCreated, .jobsDone, .jobsRefused, .jobsLost]
}
