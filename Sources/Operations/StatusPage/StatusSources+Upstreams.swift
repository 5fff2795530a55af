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
    private typealias Cell = StatusTable.Cell

    /// Returns the table of the endpoints' state.
    func apple(_ windows: StatusWindows) -> StatusTable {
        StatusTable(
            heading: .init("apple", "Apple's endpoints"),
            note: asksApple ? "the last minute" : "No requests to Apple: gateway.apple.enabled is false",
            columns: Self.columns, rows: guardRows + requestRows(windows.minute))
    }

    private var guardRows: [Row] {
        let ways = UpstreamEndpoint.allCases.map { upstreams.guards.health(of: $0) }
        func row(_ name: String, _ title: String, _ cell: (UpstreamHealth) -> Cell) -> Row {
            Row(heading: .init(name, title), cells: ways.map(cell))
        }
        return [
            row("breaker", "Circuit breaker") { $0.breakerCell },
            row("paused_for_seconds", "Requested pause") {
                .init(value: $0.pausedFor.map { .span($0) } ?? .none(shown: "none"), tone: $0.pauseTone)
            },
            row("in_flight", "Requests in flight") { .init(value: .part($0.inFlight, of: $0.concurrencyLimit)) },
            row("waiting", "waiting for a slot") { .init(value: .count($0.waiting)) },
            row("budget_remaining", "Budget left") { .init(value: $0.budgetValue, tone: $0.budgetTone) },
        ]
    }

    private func requestRows(_ minute: StatusWindow) -> [Row] {
        func row(_ name: String, _ title: String, _ cell: (UpstreamEndpoint) -> Cell) -> Row {
            Row(heading: .init(name, title), cells: UpstreamEndpoint.allCases.map(cell))
        }
        return [
            row("answered", "Answered") { .init(value: .rate(minute.rate($0.answered))) },
            row("failed", "Failed") { endpoint in
                let failures = endpoint.failed.reduce(0) { $0 + minute.count($1) }
                return .init(value: .rate(minute.rate(endpoint.failed)), tone: failures > 0 ? .notable : .plain)
            },
            row("rejected", "Rejected locally") { .init(value: .rate(minute.rate($0.rejected))) },
            row("median", "p50") { .init(value: .latency(minute.quantile(0.5, of: $0.timing))) },
            row("p99", "p99") { .init(value: .latency(minute.quantile(0.99, of: $0.timing))) },
        ]
    }

    /// Returns the table of the end of `verifyReceipt`.
    func sunset(at now: Timestamp) -> StatusTable {
        let known = UpstreamEndpoint.allCases.map { upstreams.lifecycle.state(of: $0) }
        func row(_ name: String, _ title: String, _ cell: (UpstreamLifecycle.State) -> Cell) -> Row {
            Row(heading: .init(name, title), cells: known.map(cell))
        }
        return StatusTable(
            heading: .init("sunset", "The end of verifyReceipt"), note: "", columns: Self.columns,
            rows: [
                row("stage", "Stage") { .init(value: .word($0.dates.stage(at: now).name)) },
                row("deprecation", "Deprecated from") { .init(value: .time($0.dates.deprecation)) },
                row("sunset", "Ends on") { .init(value: .time($0.dates.sunset)) },
                row("left_seconds", "Time left") { state in
                    let left = state.dates.sunset.map { max(.zero, $0.since(now)) }
                    return .init(value: .span(left), tone: left == .zero ? .bad : .plain)
                },
                row("share_moved", "Answered without it") { .init(value: .share($0.dates.stage(at: now).rampShare)) },
                row("said_by", "Announced by") { .init(value: $0.source) },
            ])
    }
}

extension UpstreamHealth {
    fileprivate var breakerCell: StatusTable.Cell {
        let tone: StatusTone =
            switch breaker {
            case .closed: .good
            case .halfOpen: .notable
            case .open: .bad
            }
        return .init(value: .word(breaker.rawValue, shown: breakerText), tone: tone)
    }

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

    fileprivate var pauseTone: StatusTone { pausedFor == nil ? .plain : .notable }

    fileprivate var budgetValue: StatusValue {
        budgetRemaining.map { .count($0) } ?? .none(shown: "none set")
    }

    fileprivate var budgetTone: StatusTone { budgetRemaining == 0 ? .notable : .plain }
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
