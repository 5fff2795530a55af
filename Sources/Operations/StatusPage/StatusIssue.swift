// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import Receipts
internal import RedisStore
internal import Resilience
internal import Settings

/// Something that somebody should know, and what to do about it.
struct StatusIssue: Hashable, Sendable {
    /// How much it matters. The raw values are those of `/status.json`, and of alerts.
    enum Severity: String, Comparable, Sendable {
        case info, warning, critical

        static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }

        private var rank: Int { self == .info ? 0 : self == .warning ? 1 : 2 }
    }

    let severity: Severity
    /// What is wrong, in one sentence.
    let text: String
    /// What to do, or what happens by itself.
    let advice: String
    /// The page of docs/runbooks that says more; nil where nothing is to be done.
    let runbook: Runbook?

    init(_ severity: Severity, _ text: String, _ advice: String, _ runbook: Runbook? = nil) {
        self.severity = severity
        self.text = text
        self.advice = advice
        self.runbook = runbook
    }

    /// The runbooks that the page names. A test holds them to docs/runbooks.
    enum Runbook: String, CaseIterable, Sendable {
        case redisMisconfigured = "ReceiptGatewayRedisMisconfigured"
        case reloadFailed = "ReceiptGatewayReloadFailed"
        case redisAway = "ReceiptGatewayRedisUnavailable"
        case tampered = "ReceiptGatewaySharedDataTampered"
        case breakerOpen = "ReceiptGatewayBreakerOpen"
        case appleFails = "ReceiptGatewayAppleErrorRateHigh"
        case appleThrottles = "ReceiptGatewayAppleThrottles"
        case somebodyBetween = "ReceiptGatewayUpstreamTLSInterception"
        case secretRejected = "ReceiptGatewaySharedSecretRejected"
        case undecided = "ReceiptGatewayVerificationsUndecided"
        case degraded = "ReceiptGatewayDegradedAnswers"
        case errors = "ReceiptGatewayErrorsBurnFast"
        case slow = "ReceiptGatewayLatencyBurnsFast"
        case overloaded = "ReceiptGatewayOverloaded"
        case sunset = "ReceiptGatewaySunsetApproaching"

        /// Where it can be read, as alerts say it.
        var address: String {
            "https://github.com/receipt-gateway/receipt-gateway/blob/main/docs/runbooks/\(rawValue).md"
        }
    }
}

/// From when on something is worth a word: as in the alerts, but for this node and the last minute.
enum StatusThresholds {
    /// Fewer verdicts in a minute tell nothing about shares.
    static let fewestVerdicts = 20
    static let undecidedShare = 0.05
    static let degradedShare = 0.05
    static let errorShare = 0.0144
    static let failedShare = 0.1
    /// Where all should be within a second.
    static let slowestHundredth = 1.0
    /// Days before the end, by how much it matters.
    static let sunsetDays: [(days: Int, severity: StatusIssue.Severity)] = [
        (7, .critical), (30, .warning), (90, .info),
    ]
}

extension StatusSources {
    /// Everything somebody should know, what matters most first.
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
                .warning, "The configuration was read again and refused; the one before stays in force.",
                "The log says what is wrong with it.", .reloadFailed)
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
                    "\(endpoint.title) asked for a pause: \(StatusValue.span(pause).text) more.",
                    "Receipts answer for themselves meanwhile. Ask less: gateway.apple.max_requests_per_second.",
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
                "Of \(asked) questions to \(endpoint.title) in the last minute \(failed) failed.",
                "Receipts answer for themselves where they can. See what fails by outcome in the metrics.", .appleFails)
        ]
    }

    private func breakerFinding(_ endpoint: UpstreamEndpoint, _ health: UpstreamHealth) -> StatusIssue? {
        let title = endpoint.title
        switch (health.breaker, health.breakerMode) {
        case (.closed, _): return nil
        case (_, .forcedOpen):
            return StatusIssue(
                .warning, "\(title) is left alone by order: gateway.apple.breaker is forced_open.",
                "Set it to auto once Apple is well.", .breakerOpen)
        case (.halfOpen, _):
            return StatusIssue(
                .warning, "\(title) failed; single questions find out whether it is back.",
                "Nothing to do: the breaker closes by itself once they are answered.", .breakerOpen)
        case (.open, _):
            return StatusIssue(
                .warning, "\(title) is left alone: its breaker is open.",
                "Receipts answer for themselves meanwhile, and Apple is tried again by itself.", .breakerOpen)
        }
    }

    private func trustFindings(_ windows: StatusWindows) -> [StatusIssue] {
        let candidates = [
            (
                StatusCount.contradicted,
                StatusIssue(
                    .critical, "An answer in Apple's name contradicts what Apple signed, and was refused.",
                    "Find out who answers under Apple's name.", .somebodyBetween)
            ),
            (
                .cacheForgeries,
                StatusIssue(
                    .critical, "Something in Redis was changed by somebody who has no key.",
                    "Nothing of it was used. Find out who writes there.", .tampered)
            ),
            (
                .secretRejected,
                StatusIssue(
                    .warning, "Apple does not accept the shared secret of an app.",
                    "Renewals are not seen for it. Compare the secret with App Store Connect.", .secretRejected)
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
                    "See what the log says of them.", .errors))
        }
        if exceeds(.unreachableForCallers, StatusThresholds.undecidedShare, of: verdicts) {
            issues.append(
                StatusIssue(
                    .critical,
                    "\(minute.count(.unreachableForCallers)) of \(verdicts) verifications in the last minute ended without a verdict.",
                    "Callers insist on Apple's word, and Apple does not answer.", .undecided))
        }
        if exceeds(.degraded, StatusThresholds.degradedShare, of: verdicts) {
            issues.append(
                StatusIssue(
                    .warning,
                    "\(minute.count(.degraded)) of \(verdicts) answers in the last minute lack Apple's latest word.",
                    "They rest on what Apple said before, or on the receipt itself, and say so.", .degraded))
        }
        return issues + loadFindings(windows, verdicts: verdicts)
    }

    private func loadFindings(_ windows: StatusWindows, verdicts: Int) -> [StatusIssue] {
        var issues: [StatusIssue] = []
        if windows.minute.count(.overloaded) > 0 {
            issues.append(
                StatusIssue(
                    .warning,
                    "This node has too much to do: it refused \(windows.minute.count(.overloaded)) requests in the last minute.",
                    "Add nodes, or give this one more room.", .overloaded))
        }
        if verdicts >= StatusThresholds.fewestVerdicts, let slow = windows.minute.quantile(0.99, of: .answers),
            slow > StatusThresholds.slowestHundredth
        {
            issues.append(
                StatusIssue(
                    .warning, "One answer in a hundred takes longer than \(StatusValue.latency(slow).text).",
                    "See whether Apple, Redis or this machine is slow.", .slow))
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
                    .critical, "verifyReceipt has ended, Apple says.", "Whoever asks Apple must have moved by now.",
                    .sunset)
            ]
        }
        guard let step = StatusThresholds.sunsetDays.first(where: { left <= .seconds($0.days * 86_400) }) else {
            return []
        }
        return [
            StatusIssue(
                step.severity, "verifyReceipt ends in \(StatusValue.span(left).text).",
                "From thirty days before on, more and more receipts answer for themselves.", .sunset)
        ]
    }
}
