// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import Receipts
internal import Resilience

// The tables about Apple's endpoints: a column for each.
extension StatusSources {
    private static let columns = UpstreamEndpoint.allCases.map { endpoint in
        StatusTable.Heading(endpoint.environment.rawValue, endpoint.environment.rawValue)
    }

    private typealias Row = StatusTable.Row

    /// Returns the table of the endpoints' state.
    func apple(_ windows: StatusWindows) -> StatusTable {
        StatusTable(
            heading: .init("apple", "Apple's endpoints"),
            note: isAppleEnabled ? "the last minute" : "No requests to Apple: gateway.apple.enabled is false",
            columns: Self.columns, rows: guardRows + requestRows(windows.minute))
    }

    private var guardRows: [Row] {
        let health = UpstreamEndpoint.allCases.map { upstreams.guards.health(of: $0) }
        return [
            row("breaker", "Circuit breaker", health, tone: \.breakerTone) { $0.breakerValue },
            row("paused_for_seconds", "Requested pause", health, tone: { $0.pausedFor == nil ? .plain : .notable }) {
                $0.pausedFor.map { .span($0) } ?? .none(shown: "none")
            },
            row("in_flight", "Requests in flight", health) { .part($0.inFlight, of: $0.concurrencyLimit) },
            row("waiting", "waiting for a slot", health) { .count($0.waiting) },
            row("budget_remaining", "Budget left", health, tone: { $0.budgetRemaining == 0 ? .notable : .plain }) {
                $0.budgetRemaining.map { .count($0) } ?? .none(shown: "none set")
            },
        ]
    }

    private func requestRows(_ minute: StatusWindow) -> [Row] {
        let endpoints = UpstreamEndpoint.allCases
        return [
            row("answered", "Answered", endpoints) { .rate(minute.rate($0.answered)) },
            row("failed", "Failed", endpoints, tone: { minute.count($0.failed) > 0 ? .notable : .plain }) {
                .rate(minute.rate($0.failed))
            },
            row("rejected", "Rejected locally", endpoints) { .rate(minute.rate($0.rejected)) },
            row("median", "p50", endpoints) { .latency(minute.quantile(0.5, of: $0.timing)) },
            row("p99", "p99", endpoints) { .latency(minute.quantile(0.99, of: $0.timing)) },
        ]
    }

    /// Returns the table of the end of `verifyReceipt`.
    func sunset(at now: Timestamp) -> StatusTable {
        let known = UpstreamEndpoint.allCases.map { upstreams.lifecycle.state(of: $0) }
        let left = known.map { $0.dates.sunset.map { max(.zero, $0.since(now)) } }
        return StatusTable(
            heading: .init("sunset", "The end of verifyReceipt"), note: "", columns: Self.columns,
            rows: [
                row("stage", "Stage", known) { .word($0.dates.stage(at: now).name) },
                row("deprecation", "Deprecated from", known) { .time($0.dates.deprecation) },
                row("sunset", "Ends on", known) { .time($0.dates.sunset) },
                row("left_seconds", "Time left", left, tone: { $0 == .zero ? .bad : .plain }) { .span($0) },
                row("sunset_ramp_ratio", "Answered without it", known) {
                    .share($0.dates.stage(at: now).rampShare)
                },
                row("said_by", "Announced by", known) { $0.source },
            ])
    }

    /// Returns a row with a cell for each subject.
    private func row<Subject>(
        _ name: String, _ title: String, _ subjects: [Subject], tone: (Subject) -> StatusTone = { _ in .plain },
        _ value: (Subject) -> StatusValue
    ) -> Row {
        Row(heading: .init(name, title), cells: subjects.map { .init(value: value($0), tone: tone($0)) })
    }
}

extension UpstreamHealth {
    fileprivate var breakerTone: StatusTone {
        switch breaker {
        case .closed: .good
        case .halfOpen: .notable
        case .open: .bad
        }
    }

    fileprivate var breakerValue: StatusValue { .word(breaker.rawValue, shown: breakerText) }

    private var breakerText: String {
        let state = breaker.rawValue.replacing("_", with: " ")
        switch breakerMode {
        case .auto: break
        case .forcedOpen: return "forced open"
        case .forcedClosed: return "forced closed"
        case .metricsOnly: return "\(state) (metrics only)"
        }
        guard let span = breakerOpensFor else { return state }
        return "\(state), for \(span.secondsRoundedUp) s"
    }
}

extension UpstreamLifecycle.State {
    fileprivate var source: StatusValue {
        if dates == LifecycleDates() { return .word("none", shown: "not announced") }
        return announced == LifecycleDates() ? .word("configuration") : .word("apple", shown: "Apple")
    }
}

extension UpstreamEndpoint {
    /// The name in sentences.
    var title: String { "Apple's \(environment.rawValue) endpoint" }

    var answered: StatusCount { environment == .production ? .productionAnswered : .sandboxAnswered }

    /// The counts of requests without an answer.
    var failed: [StatusCount] {
        environment == .production ? [.productionFailed, .productionThrottled] : [.sandboxFailed, .sandboxThrottled]
    }

    fileprivate var rejected: StatusCount { environment == .production ? .productionRejected : .sandboxRejected }
    fileprivate var timing: StatusTiming { environment == .production ? .production : .sandbox }
}
