// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import Receipts
internal import RedisStore
internal import Resilience
internal import Settings

/// An issue that an operator should know, with advice.
struct StatusIssue: Hashable, Sendable {
    /// The severity. The raw values are those of `/status.json` and of alerts.
    enum Severity: String, Comparable, Sendable {
        case info, warning, critical

        static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }

        private var rank: Int { self == .info ? 0 : self == .warning ? 1 : 2 }
    }

    let severity: Severity
    /// The problem, in one sentence.
    let text: String
    /// The advice, or the automatic reaction.
    let advice: String
    /// The page of docs/runbooks; nil if nothing needs to be done.
    let runbook: Runbook?

    init(_ severity: Severity, _ text: String, _ advice: String, _ runbook: Runbook? = nil) {
        self.severity = severity
        self.text = text
        self.advice = advice
        self.runbook = runbook
    }

    /// The runbooks that the page links. A test compares them with docs/runbooks.
    enum Runbook: String, CaseIterable, Sendable {
        case redisMisconfigured = "ReceiptGatewayRedisMisconfigured"
        case reloadFailed = "ReceiptGatewayConfigurationReloadFailed"
        case redisAway = "ReceiptGatewayRedisUnavailable"
        case tampered = "ReceiptGatewayRedisDataTampered"
        case breakerOpen = "ReceiptGatewayCircuitBreakerOpen"
        case appleFails = "ReceiptGatewayAppleErrorRateHigh"
        case appleThrottles = "ReceiptGatewayAppleThrottling"
        case tlsInterception = "ReceiptGatewayUpstreamTLSInterception"
        case secretRejected = "ReceiptGatewaySharedSecretRejected"
        case undecided = "ReceiptGatewayVerificationsUndecided"
        case degraded = "ReceiptGatewayDegradedAnswers"
        case errors = "ReceiptGatewayErrorsBurnFast"
        case slow = "ReceiptGatewayLatencyBurnsFast"
        case overloaded = "ReceiptGatewayOverloaded"
        case sunset = "ReceiptGatewaySunsetApproaching"

        /// The URL, as in the alerts.
        var address: String {
            "https://github.com/receipt-gateway/receipt-gateway/blob/main/docs/runbooks/\(rawValue).md"
        }
    }
}

/// The thresholds of issues: as in the alerts, but for this node and the last minute.
enum StatusThresholds {
    /// The minimum number of verdicts per minute for a meaningful share.
    static let fewestVerdicts = 20
    static let undecidedShare = 0.05
    static let degradedShare = 0.05
    static let errorShare = 0.0144
    static let failedShare = 0.1
    /// The maximum p99 of the time to answer, in seconds.
    static let slowestHundredth = 1.0
    /// Days before the end, by severity.
    static let sunsetDays: [(days: Int, severity: StatusIssue.Severity)] = [
        (7, .critical), (30, .warning), (90, .info),
    ]
}

extension StatusSources {
    /// Returns all issues, the most severe first.
    func issues(_ windows: StatusWindows, at now: Timestamp) -> [StatusIssue] {
        let all =
            health.issues + reloadFindings + appleFindings(windows) + answerFindings(windows)
            + sunsetFindings(at: now)
        return [.critical, .warning, .info].flatMap { severity in all.filter { $0.severity == severity } }
    }

    private var reloadFindings: [StatusIssue] {
        guard reloads.last?.result == .refused else { return [] }
        return [
            StatusIssue(
                .warning, "The new configuration was rejected; the previous one stays in force.",
                "The log names the problems.", .reloadFailed)
        ]
    }

    private func appleFindings(_ windows: StatusWindows) -> [StatusIssue] {
        guard asksApple else { return [] }
        let ways = UpstreamEndpoint.allCases.flatMap { endpoint in
            appleFindings(endpoint, upstreams.guards.health(of: endpoint), windows.minute)
        }
        return ways + trustFindings(windows)
    }

    private func appleFindings(
        _ endpoint: UpstreamEndpoint, _ health: UpstreamHealth, _ minute: StatusWindow
    ) -> [StatusIssue] {
        if let result = breakerFinding(endpoint, health) { return [result] }
        if let pause = health.pausedFor {
            return [
                StatusIssue(
                    .warning,
                    "\(endpoint.title) requested a pause: \(StatusValue.span(pause).text) left.",
                    "Answers rest on the receipts alone. To send less, lower gateway.apple.max_requests_per_second.",
                    .appleThrottles)
            ]
        }
        let failed = endpoint.failed.reduce(0) { $0 + minute.count($1) }
        let asked = failed + minute.count(endpoint.answered)
        guard asked >= StatusThresholds.fewestVerdicts, Double(failed) > StatusThresholds.failedShare * Double(asked)
        else { return [] }
        return [
            StatusIssue(
                .warning,
                "\(failed) of \(asked) requests to \(endpoint.title) failed in the last minute.",
                "Answers rest on the receipts alone where possible. The metrics count failures by outcome.", .appleFails
            )
        ]
    }

    private func breakerFinding(_ endpoint: UpstreamEndpoint, _ health: UpstreamHealth) -> StatusIssue? {
        let title = endpoint.title
        switch (health.breaker, health.breakerMode) {
        case (.closed, _): return nil
        case (_, .forcedOpen):
            return StatusIssue(
                .warning, "\(title) gets no requests: gateway.apple.breaker is forced_open.",
                "Set it to auto once Apple has recovered.", .breakerOpen)
        case (.halfOpen, _):
            return StatusIssue(
                .warning, "\(title) failed; the circuit breaker is probing it.",
                "Nothing to do: the breaker closes when the probes succeed.", .breakerOpen)
        case (.open, _):
            return StatusIssue(
                .warning, "\(title) gets no requests: its circuit breaker is open.",
                "Answers rest on the receipts alone. The breaker probes Apple by itself.", .breakerOpen)
        }
    }

    private func trustFindings(_ windows: StatusWindows) -> [StatusIssue] {
        let candidates = [
            (
                StatusCount.contradicted,
                StatusIssue(
                    .critical, "An answer in Apple's name contradicts what Apple signed and was rejected.",
                    "Find the server that answers in Apple's name.", .tlsInterception)
            ),
            (
                .cacheForgeries,
                StatusIssue(
                    .critical, "Data in Redis was changed by a writer without the cache keys.",
                    "It was not used. Find the other writer.", .tampered)
            ),
            (
                .secretRejected,
                StatusIssue(
                    .warning, "Apple does not accept the shared secret of an app.",
                    "Its renewals are unknown. Compare the secret with App Store Connect.", .secretRejected)
            ),
        ]
        return candidates.filter { windows.all.count($0.0) > 0 }.map(\.1)
    }

    private func answerFindings(_ windows: StatusWindows) -> [StatusIssue] {
        let minute = windows.minute
        let verdicts = [StatusCount].verdicts.reduce(0) { $0 + minute.count($1) }
        func exceeds(_ count: StatusCount, _ share: Double, of whole: Int) -> Bool {
            whole >= StatusThresholds.fewestVerdicts && Double(minute.count(count)) > share * Double(whole)
        }
        var issues: [StatusIssue] = []
        if exceeds(.serverErrors, StatusThresholds.errorShare, of: minute.count(.answers)) {
            issues.append(
                StatusIssue(
                    .critical,
                    "\(minute.count(.serverErrors)) of \(minute.count(.answers)) requests failed with 5xx in the last minute.",
                    "See the log.", .errors))
        }
        if exceeds(.unreachableForCallers, StatusThresholds.undecidedShare, of: verdicts) {
            issues.append(
                StatusIssue(
                    .critical,
                    "\(minute.count(.unreachableForCallers)) of \(verdicts) verifications in the last minute ended without a verdict.",
                    "These requests require Apple's answer, and Apple does not answer.", .undecided))
        }
        if exceeds(.degraded, StatusThresholds.degradedShare, of: verdicts) {
            issues.append(
                StatusIssue(
                    .warning,
                    "\(minute.count(.degraded)) of \(verdicts) answers in the last minute lack Apple's current result.",
                    "They rest on cached results or on the receipt alone, and are labelled degraded.", .degraded))
        }
        return issues + loadFindings(windows, verdicts: verdicts)
    }

    private func loadFindings(_ windows: StatusWindows, verdicts: Int) -> [StatusIssue] {
        var issues: [StatusIssue] = []
        if windows.minute.count(.overloaded) > 0 {
            issues.append(
                StatusIssue(
                    .warning,
                    "This node is overloaded: it rejected \(windows.minute.count(.overloaded)) requests in the last minute.",
                    "Add nodes, or give this one more memory and CPU.", .overloaded))
        }
        if verdicts >= StatusThresholds.fewestVerdicts, let slow = windows.minute.quantile(0.99, of: .answers),
            slow > StatusThresholds.slowestHundredth
        {
            issues.append(
                StatusIssue(
                    .warning, "The p99 of the time to answer is \(StatusValue.latency(slow).text).",
                    "Check Apple, Redis and the load of this machine.", .slow))
        }
        return issues
    }

    private func sunsetFindings(at now: Timestamp) -> [StatusIssue] {
        let ends = UpstreamEndpoint.allCases.compactMap { upstreams.lifecycle.state(of: $0).dates.sunset }
        guard asksApple, let end = ends.min() else { return [] }
        let left = end.since(now)
        guard left > .zero else {
            return [
                StatusIssue(
                    .critical, "verifyReceipt has reached its end date.",
                    "Clients that need Apple's answer must have migrated.",
                    .sunset)
            ]
        }
        guard let step = StatusThresholds.sunsetDays.first(where: { left <= .seconds($0.days * 86_400) }) else {
            return []
        }
        return [
            StatusIssue(
                step.severity, "verifyReceipt ends in \(StatusValue.span(left).text).",
                "In the last thirty days a growing share of answers rests on the receipt alone.", .sunset)
        ]
    }
}
