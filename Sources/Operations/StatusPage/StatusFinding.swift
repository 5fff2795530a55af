// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import Receipts
internal import RedisStore
internal import Resilience
internal import Settings

/// Something that somebody should know, and what to do about it.
struct StatusFinding: Hashable, Sendable {
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
        case redisAway = "ReceiptGatewayRedisAway"
        case tampered = "ReceiptGatewaySharedDataTampered"
        case breakerOpen = "ReceiptGatewayBreakerOpen"
        case appleFails = "ReceiptGatewayAppleFails"
        case appleThrottles = "ReceiptGatewayAppleThrottles"
        case somebodyBetween = "ReceiptGatewaySomebodyBetween"
        case secretRejected = "ReceiptGatewaySharedSecretRejected"
        case undecided = "ReceiptGatewayVerificationsUndecided"
        case degraded = "ReceiptGatewayAnswersDegraded"
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
    static let sunsetDays: [(days: Int, severity: StatusFinding.Severity)] = [
        (7, .critical), (30, .warning), (90, .info),
    ]
}

extension StatusSources {
    /// Everything somebody should know, what matters most first.
    func findings(_ windows: StatusWindows, at now: Timestamp) -> [StatusFinding] {
        let all =
            health.findings + reloadFindings + appleFindings(windows) + answerFindings(windows)
            + sunsetFindings(at: now)
        return [.critical, .warning, .info].flatMap { severity in all.filter { $0.severity == severity } }
    }

    private var reloadFindings: [StatusFinding] {
        guard reloads.last?.result == .refused else { return [] }
        return [
            StatusFinding(
                .warning, "The configuration was read again and refused; the one before stays in force.",
                "The log says what is wrong with it.", .reloadFailed)
        ]
    }

    private func appleFindings(_ windows: StatusWindows) -> [StatusFinding] {
        guard asksApple else { return [] }
        let ways = UpstreamEndpoint.allCases.flatMap { endpoint in
            appleFindings(endpoint, upstreams.guards.health(of: endpoint), windows.minute)
        }
        return ways + trustFindings(windows)
    }

    private func appleFindings(
        _ endpoint: UpstreamEndpoint, _ health: UpstreamHealth, _ minute: StatusWindow
    ) -> [StatusFinding] {
        if let finding = breakerFinding(endpoint, health) { return [finding] }
        if let pause = health.pausedFor {
            return [
                StatusFinding(
                    .warning,
                    "\(endpoint.title) asked for a pause: \(StatusValue.span(pause).text) more.",
                    "Receipts answer for themselves meanwhile. Ask less: gateway.apple.questions_per_second.",
                    .appleThrottles)
            ]
        }
        let failed = endpoint.failed.reduce(0) { $0 + minute.count($1) }
        let asked = failed + minute.count(endpoint.answered)
        guard asked >= StatusThresholds.fewestVerdicts, Double(failed) > StatusThresholds.failedShare * Double(asked)
        else { return [] }
        return [
            StatusFinding(
                .warning,
                "Of \(asked) questions to \(endpoint.title) in the last minute \(failed) failed.",
                "Receipts answer for themselves where they can. See what fails by outcome in the metrics.", .appleFails)
        ]
    }

    private func breakerFinding(_ endpoint: UpstreamEndpoint, _ health: UpstreamHealth) -> StatusFinding? {
        let title = endpoint.title
        switch (health.breaker, health.breakerMode) {
        case (.closed, _): return nil
        case (_, .forcedOpen):
            return StatusFinding(
                .warning, "\(title) is left alone by order: gateway.apple.breaker is forced_open.",
                "Set it to auto once Apple is well.", .breakerOpen)
        case (.halfOpen, _):
            return StatusFinding(
                .warning, "\(title) failed; single questions find out whether it is back.",
                "Nothing to do: the breaker closes by itself once they are answered.", .breakerOpen)
        case (.open, _):
            return StatusFinding(
                .warning, "\(title) is left alone: its breaker is open.",
                "Receipts answer for themselves meanwhile, and Apple is tried again by itself.", .breakerOpen)
        }
    }

    private func trustFindings(_ windows: StatusWindows) -> [StatusFinding] {
        let candidates = [
            (
                StatusCount.contradicted,
                StatusFinding(
                    .critical, "An answer in Apple's name contradicts what Apple signed, and was refused.",
                    "Find out who answers under Apple's name.", .somebodyBetween)
            ),
            (
                .findingsForged,
                StatusFinding(
                    .critical, "Something in Redis was changed by somebody who has no key.",
                    "Nothing of it was used. Find out who writes there.", .tampered)
            ),
            (
                .secretRejected,
                StatusFinding(
                    .warning, "Apple does not accept the shared secret of an app.",
                    "Renewals are not seen for it. Compare the secret with App Store Connect.", .secretRejected)
            ),
        ]
        return candidates.filter { windows.all.count($0.0) > 0 }.map(\.1)
    }

    private func answerFindings(_ windows: StatusWindows) -> [StatusFinding] {
        let minute = windows.minute
        let verdicts = [StatusCount].verdicts.reduce(0) { $0 + minute.count($1) }
        func exceeds(_ count: StatusCount, _ share: Double, of whole: Int) -> Bool {
            whole >= StatusThresholds.fewestVerdicts && Double(minute.count(count)) > share * Double(whole)
        }
        var findings: [StatusFinding] = []
        if exceeds(.serverErrors, StatusThresholds.errorShare, of: minute.count(.answers)) {
            findings.append(
                StatusFinding(
                    .critical,
                    "\(minute.count(.serverErrors)) of \(minute.count(.answers)) requests failed with 5xx in the last minute.",
                    "See what the log says of them.", .errors))
        }
        if exceeds(.unreachableForCallers, StatusThresholds.undecidedShare, of: verdicts) {
            findings.append(
                StatusFinding(
                    .critical,
                    "\(minute.count(.unreachableForCallers)) of \(verdicts) verifications in the last minute ended without a verdict.",
                    "Callers insist on Apple's word, and Apple does not answer.", .undecided))
        }
        if exceeds(.degraded, StatusThresholds.degradedShare, of: verdicts) {
            findings.append(
                StatusFinding(
                    .warning,
                    "\(minute.count(.degraded)) of \(verdicts) answers in the last minute lack Apple's latest word.",
                    "They rest on what Apple said before, or on the receipt itself, and say so.", .degraded))
        }
        return findings + loadFindings(windows, verdicts: verdicts)
    }

    private func loadFindings(_ windows: StatusWindows, verdicts: Int) -> [StatusFinding] {
        var findings: [StatusFinding] = []
        if windows.minute.count(.overloaded) > 0 {
            findings.append(
                StatusFinding(
                    .warning,
                    "This node has too much to do: it refused \(windows.minute.count(.overloaded)) requests in the last minute.",
                    "Add nodes, or give this one more room.", .overloaded))
        }
        if verdicts >= StatusThresholds.fewestVerdicts, let slow = windows.minute.quantile(0.99, of: .answers),
            slow > StatusThresholds.slowestHundredth
        {
            findings.append(
                StatusFinding(
                    .warning, "One answer in a hundred takes longer than \(StatusValue.latency(slow).text).",
                    "See whether Apple, Redis or this machine is slow.", .slow))
        }
        return findings
    }

    private func sunsetFindings(at now: Timestamp) -> [StatusFinding] {
        let ends = UpstreamEndpoint.allCases.compactMap { upstreams.lifecycle.knowledge(of: $0).dates.sunset }
        guard asksApple, let end = ends.min() else { return [] }
        let left = end.since(now)
        guard left > .zero else {
            return [
                StatusFinding(
                    .critical, "verifyReceipt has ended, Apple says.", "Whoever asks Apple must have moved by now.",
                    .sunset)
            ]
        }
        guard let step = StatusThresholds.sunsetDays.first(where: { left <= .seconds($0.days * 86_400) }) else {
            return []
        }
        return [
            StatusFinding(
                step.severity, "verifyReceipt ends in \(StatusValue.span(left).text).",
                "From thirty days before on, more and more receipts answer for themselves.", .sunset)
        ]
    }
}
