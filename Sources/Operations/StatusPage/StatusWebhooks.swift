// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Gateway
internal import Receipts
internal import Telemetry

// Webhooks: the queues are the whole fleet's, the last attempts are this node's.
extension StatusSources {
    private typealias Row = StatusTable.Row
    private typealias Heading = StatusTable.Heading

    private enum Limits {
        /// The endpoints on the page, in alphabetical order. The metrics have all endpoints.
        static let endpoints = 64
    }

    /// The table about webhooks; nil without endpoints.
    func webhookTable(at now: Timestamp) -> StatusTable? {
        let endpoints = webhooks.endpoints.prefix(Limits.endpoints), attempts = lastAttempts()
        guard !endpoints.isEmpty else { return nil }
        return StatusTable(
            heading: .init("webhooks", "Webhooks"), note: "last failure: of this node",
            columns: [
                Heading("lag_seconds", "lag"), Heading("unread", "unread"), Heading("held", "held"),
                Heading("dead", "dead"), Heading("disabled_seconds", "disabled for"),
                Heading("last_failure", "last failure"), Heading("last_failure_seconds", "ago"),
            ],
            rows: endpoints.map { row($0, attempts[$0.name] ?? LastAttempts(), at: now) })
    }

    private func row(_ endpoint: EndpointSurvey, _ last: LastAttempts, at now: Timestamp) -> Row {
        let lag = endpoint.lag ?? .zero, disabledFor = endpoint.disabledAt.map { max(.zero, $0.duration(to: now)) }
        return Row(
            heading: Heading(endpoint.name, endpoint.name),
            cells: [
                .init(value: .span(lag), tone: lag > StatusThresholds.webhookLag ? .bad : .plain),
                .init(value: .count(Int(clamping: endpoint.unread))), .init(value: .count(endpoint.held)),
                .init(value: .count(endpoint.dead), tone: endpoint.dead > 0 ? .notable : .plain),
                .init(
                    value: disabledFor.map { .span($0) } ?? .none(shown: "enabled"),
                    tone: disabledFor == nil ? .plain : .bad),
                .init(
                    value: last.fault.map { .word($0.rawValue) } ?? .none(shown: "none"),
                    tone: last.isFailing ? .notable : .plain),
                .init(value: .span(last.failedAt.map { max(.zero, $0.duration(to: now)) })),
            ])
    }
}

// MARK: - Issues

extension StatusSources {
    func webhookIssues(at now: Timestamp) -> [StatusIssue?] {
        let endpoints = webhooks.endpoints, attempts = lastAttempts()
        let disabled = endpoints.filter { $0.disabledAt != nil }
        let late = endpoints.filter { $0.disabledAt == nil && ($0.lag ?? .zero) > StatusThresholds.failingLag }
        let failing = late.filter { attempts[$0.name]?.isFailing ?? false }
        let slow = late.filter { endpoint in
            !failing.contains(endpoint) && (endpoint.lag ?? .zero) > StatusThresholds.webhookLag
        }
        let dead = endpoints.filter { $0.dead > 0 }
        let missed = endpoints.filter { attempts[$0.name]?.hasMissed(since: now) ?? false }
        return [
            StatusIssue(
                if: !failing.isEmpty, .warning, "Deliveries fail: \(failing.listed).",
                "Events wait, and are tried again. Find the reason with receipt-gateway webhook test.", .webhookFailing),
            StatusIssue(
                if: !slow.isEmpty, .warning, "Webhooks are late: \(slow.listed).",
                "The oldest undelivered event is older than five minutes. The receiver may be too slow.",
                .webhookLagHigh),
            StatusIssue(
                if: !disabled.isEmpty, .warning, "Webhooks are disabled: \(disabled.listed).",
                "The endpoint has answered 410. Remove it, or enable it with receipt-gateway events endpoints --enable.",
                .webhookDisabled),
            StatusIssue(
                if: !missed.isEmpty, .warning, "Events were removed before their delivery: \(missed.listed).",
                "The receiver must read the present state of its customers.", .eventsMissed),
            StatusIssue(
                if: !dead.isEmpty, .info, "\(dead.reduce(0) { $0 + $1.dead }) events were given up: \(dead.listed).",
                "Remove the cause, and send them again with receipt-gateway events redeliver.", .webhookDeadEvents),
        ]
    }
}

extension [EndpointSurvey] {
    fileprivate var listed: String { map(\.name).listed }
}

extension LastAttempts {
    fileprivate func hasMissed(since now: Timestamp) -> Bool {
        missedAt.map { $0.duration(to: now) < StatusThresholds.missed } ?? false
    }
}

extension StatusThresholds {
    /// As in the alert.
    fileprivate static let webhookLag: Duration = .seconds(300)
    /// The lag of an endpoint whose last attempt failed: the second attempt comes after five seconds.
    fileprivate static let failingLag: Duration = .seconds(60)
    /// The time for which the page shows a loss.
    fileprivate static let missed: Duration = .seconds(600)
}
