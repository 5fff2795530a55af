// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Gateway
internal import Receipts
internal import Resilience
internal import Settings
internal import Telemetry

/// An issue that an operator should know, with advice.
struct StatusIssue: Hashable, Sendable {
    /// The severity. The raw values appear in `/status.json` and in alerts.
    enum Severity: String, Sendable {
        case info, warning, critical
    }

    let severity: Severity
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

    init?(if condition: Bool, _ severity: Severity, _ text: String, _ advice: String, _ runbook: Runbook) {
        guard condition else { return nil }
        self.init(severity, text, advice, runbook)
    }

    /// The runbooks that the page links. A test compares them with docs/runbooks.
    enum Runbook: String, CaseIterable, Sendable {
        case redisMisconfigured, configurationReloadFailed, redisUnavailable, redisDataTampered, circuitBreakerOpen,
            appleErrorRateHigh, appleThrottling, appleAnswersRejected, upstreamTLSInterception, sharedSecretRejected,
            serverAPIKeyRejected, serverAPIBudgetExhausted, verificationsUndecided, degradedAnswers, errorsBurnFast,
            latencyBurnsFast, overloaded, sunsetApproaching, sunsetAppWithoutKey, notificationsSilent,
            notificationsRefused, notificationBacklog, notificationUnknownApp, notificationDeadLetters,
            notificationRecoveryFailing, webhookFailing, webhookLagHigh, webhookDisabled, webhookDeadEvents,
            eventsMissed, deferredVerificationsStalled, deferredVerificationsFailed, deferredVerificationsRefused

        /// The name of the page and of its alert.
        var name: String { "ReceiptGateway" + rawValue.capitalizedFirst }

        var address: String {
            "https://github.com/receipt-gateway/receipt-gateway/blob/main/docs/runbooks/\(name).md"
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
        (7, .critical), (30, .warning), (announcedDays, .info),
    ]
    /// Days before the end from which apps need a key.
    static let announcedDays = 90
}

extension StatusSources {
    func issues(_ windows: StatusWindows, at now: Timestamp) -> [StatusIssue] {
        let sunset = [sunsetIssue(at: now), keyIssue(at: now)]
        let others = notificationIssues(windows) + webhookIssues(at: now) + jobIssues(windows) + sunset
        let all = health.issues + [reloadIssue] + appleIssues(windows) + answerIssues(windows) + others
        return [.critical, .warning, .info].flatMap { severity in
            all.compactMap { $0?.severity == severity ? $0 : nil }
        }
    }

    private var reloadIssue: StatusIssue? {
        StatusIssue(
            if: reloads.last?.result == .refused, .warning,
            "The new configuration was rejected; the previous one stays in force.", "The log names the problems.",
            .configurationReloadFailed)
    }

    private func appleIssues(_ windows: StatusWindows) -> [StatusIssue?] {
        guard configuration.apple.isEnabled else { return [] }
        let endpoints = endpoints(windows).map { endpoint in
            appleIssue(endpoint, upstreams.guards.health(of: endpoint), windows.minute)
        }
        return endpoints + trustIssues(windows.all) + [budgetIssue(windows.minute)]
    }

    func appleIssue(
        _ endpoint: UpstreamEndpoint, _ health: UpstreamHealth, _ minute: StatusWindow
    ) -> StatusIssue? {
        let breaker = breakerIssue(endpoint, health)
        if let breaker, breaker.severity != .info { return breaker }
        if let pause = health.pausedFor {
            return StatusIssue(
                .warning, "\(endpoint.title) requested a pause: \(StatusValue.span(pause).text) left.",
                "Answers rest on the receipts alone. To send less, lower \(endpoint.budgetSetting).", .appleThrottling)
        }
        let failed = minute.count(.failed(endpoint)), requests = failed + minute.count(.answered(endpoint))
        let failures = StatusIssue(
            if: requests >= StatusThresholds.fewestVerdicts
                && Double(failed) > StatusThresholds.failedShare * Double(requests),
            .warning, "\(failed) of \(requests) requests to \(endpoint.title) failed in the last minute.",
            "Answers rest on the receipts alone where possible. The metrics count failures by outcome.",
            .appleErrorRateHigh)
        return failures ?? breaker
    }

    private func breakerIssue(_ endpoint: UpstreamEndpoint, _ health: UpstreamHealth) -> StatusIssue? {
        if health.breakerMode == .metricsOnly {
            return StatusIssue(
                if: health.breaker != .closed, .info,
                "\(endpoint.title) failed, and gets requests all the same: gateway.apple.breaker is metrics_only.",
                "Set it to auto, so that the circuit breaker suspends requests.", .circuitBreakerOpen)
        }
        let (text, advice) =
            switch (health.breaker, health.breakerMode) {
            case (_, .forcedOpen):
                (
                    "gets no requests: gateway.apple.breaker is forced_open.",
                    "Set it to auto once Apple has recovered."
                )
            case (.halfOpen, _):
                (
                    "failed; the circuit breaker is probing it.",
                    "Nothing to do: the breaker closes when the probes succeed."
                )
            case (.open, _), (.closed, _):
                (
                    "gets no requests: its circuit breaker is open.",
                    "Answers rest on the receipts alone. The breaker probes Apple by itself."
                )
            }
        return StatusIssue(
            if: health.breaker != .closed, .warning, "\(endpoint.title) \(text)", advice, .circuitBreakerOpen)
    }

    private func trustIssues(_ window: StatusWindow) -> [StatusIssue?] {
        [
            StatusIssue(
                if: window.count(.intercepted) > 0, .critical,
                "An answer in Apple's name is not signed by Apple, or is about another app, and was rejected.",
                "Find the server that answers in Apple's name.", .upstreamTLSInterception),
            StatusIssue(
                if: window.count(.contradicted) > 0, .warning,
                "An answer of Apple contradicts what Apple signed and was rejected.",
                "The answers rest on the receipts. The log names the contradiction.", .appleAnswersRejected),
            StatusIssue(
                if: window.count(.cacheForgeries) > 0, .critical,
                "Data in Redis was changed by a writer without the cache keys.",
                "It was not used. Find the other writer.", .redisDataTampered),
            StatusIssue(
                if: window.count(.secretRejected) > 0, .warning,
                "Apple does not accept the shared secret of an app.",
                "Its renewals are unknown. Compare the secret with App Store Connect.", .sharedSecretRejected),
            StatusIssue(
                if: window.count(.serverAPIKeyRejected) > 0, .warning,
                "Apple does not accept a key of the App Store Server API.",
                "The log names the key and the app. Compare them with App Store Connect.", .serverAPIKeyRejected),
        ]
    }

    private func budgetIssue(_ minute: StatusWindow) -> StatusIssue? {
        StatusIssue(
            if: minute.count(.overBudget) > 0, .warning,
            "\(minute.count(.overBudget)) calls of the Server API were not sent in the last minute: an app's budget is "
                + "used up.",
            "Answers rest on signed and cached data. The metrics count calls by operation.", .serverAPIBudgetExhausted)
    }

    private func answerIssues(_ windows: StatusWindows) -> [StatusIssue?] {
        let minute = windows.minute, answers = minute.count(.answers), verdicts = minute.count(.verdicts)
        let slowest = verdicts >= StatusThresholds.fewestVerdicts ? minute.quantile(0.99, of: .answers) ?? 0 : 0
        func exceeds(_ count: StatusCount, _ share: Double, of whole: Int) -> Bool {
            whole >= StatusThresholds.fewestVerdicts && Double(minute.count(count)) > share * Double(whole)
        }
        return [
            StatusIssue(
                if: exceeds(.serverErrors, StatusThresholds.errorShare, of: answers), .critical,
                "\(minute.count(.serverErrors)) of \(answers) requests failed with 5xx in the last minute.",
                "See the log.", .errorsBurnFast),
            StatusIssue(
                if: exceeds(.unreachableForCallers, StatusThresholds.undecidedShare, of: verdicts), .critical,
                "\(minute.count(.unreachableForCallers)) of \(verdicts) verifications in the last minute ended without "
                    + "a verdict.",
                "These requests require Apple's answer, and Apple does not answer.", .verificationsUndecided),
            StatusIssue(
                if: exceeds(.degraded, StatusThresholds.degradedShare, of: verdicts), .warning,
                "\(minute.count(.degraded)) of \(verdicts) answers in the last minute lack Apple's current result.",
                "They rest on cached results or on the receipt alone, and are labelled degraded.", .degradedAnswers),
            StatusIssue(
                if: minute.count(.overloaded) > 0, .warning,
                "This node is overloaded: it rejected \(minute.count(.overloaded)) requests in the last minute.",
                "Add nodes, or give this one more memory and CPU.", .overloaded),
            StatusIssue(
                if: slowest > StatusThresholds.slowestHundredth, .warning,
                "The p99 of the time to answer is \(StatusValue.latency(slowest).text).",
                "Check Apple, Redis and the load of this machine.", .latencyBurnsFast),
        ]
    }

    private func sunsetIssue(at now: Timestamp) -> StatusIssue? {
        guard configuration.apple.isEnabled, let left = timeToSunset(at: now) else { return nil }
        guard left > .zero else {
            return StatusIssue(
                .critical, "verifyReceipt has reached its end date.",
                "The Server API answers for apps with a key. Receipts of other apps are answered from their own content.",
                .sunsetApproaching)
        }
        return StatusThresholds.sunsetDays.first { left <= .seconds($0.days * 86_400) }.map { step in
            StatusIssue(
                step.severity, "verifyReceipt ends in \(StatusValue.span(left).text).",
                "Between 30 and 7 days before the end, the receipts of apps with a key move to the Server API.",
                .sunsetApproaching)
        }
    }

    private func keyIssue(at now: Timestamp) -> StatusIssue? {
        let apps = isSunsetNear(at: now) ? appsWithoutKey() : []
        return StatusIssue(
            if: !apps.isEmpty, .warning,
            "verifyReceipt ends, and there is no key of the App Store Server API for \(apps.listed).",
            "Set server_api in the clients file. The receipts of these apps then move to the Server API.",
            .sunsetAppWithoutKey)
    }

    /// Returns true from 90 days before an end of `verifyReceipt`, and after it.
    func isSunsetNear(at now: Timestamp) -> Bool {
        timeToSunset(at: now).map { $0 <= .seconds(StatusThresholds.announcedDays * 86_400) } ?? false
    }

    /// Returns the time to the earliest end of `verifyReceipt`, negative after it; nil if none is known.
    private func timeToSunset(at now: Timestamp) -> Duration? {
        let ends = UpstreamAPI.verifyReceipt.endpoints.compactMap { upstreams.lifecycle.state(of: $0).dates.sunset }
        return ends.min().map { now.duration(to: $0) }
    }
}

extension UpstreamEndpoint {
    /// The setting that limits requests to this endpoint.
    fileprivate var budgetSetting: String {
        switch api {
        case .verifyReceipt: "gateway.apple.max_requests_per_second"
        case .serverAPI: "gateway.apple.server_api.budget_share"
        }
    }
}
