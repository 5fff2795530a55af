// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Gateway
internal import Receipts
internal import Settings
internal import Telemetry

// Apple's notifications, webhooks and deferred verifications: the rates and last attempts are this node's, the contents
// of the store are the whole fleet's.
extension StatusSources {
    private typealias Row = StatusTable.Row
    private typealias Heading = StatusTable.Heading

    /// The rows on the page, in alphabetical order. The metrics have all apps and endpoints.
    private enum Limits {
        static let apps = 50
        static let endpoints = 64
    }

    // MARK: - Notifications

    /// The tables about notifications; none if no store may keep them and none has arrived.
    func notificationTables(_ windows: StatusWindows) -> [StatusTable] {
        let apps = notifications.apps
        guard apps.contains(where: { $0.fault != .volatile }) || windows.all.count(.receivedNotifications) > 0 else {
            return []
        }
        let intake = intake(windows, apps)
        return apps.isEmpty ? [intake] : [intake, byApp(apps)]
    }

    private func intake(_ windows: StatusWindows, _ apps: [AppNotifications]) -> StatusTable {
        let (minute, all) = (windows.minute, windows.all), fault = apps.compactMap(\.fault).first
        let unknown = all.count(.notifications(.unknownApp)), refused = all.count(.notifications(.refused))
        let failed = all.count(.recoveriesFailed)
        return StatusTable(
            "notifications", "Apple's notifications", note: "rates of the last minute",
            rows: [
                Row("stored", "Stored", .rate(minute.rate(.notifications(.stored)))),
                Row("duplicates", "Duplicates", .rate(minute.rate(.notifications(.duplicate)))),
                Row("invalid", "Invalid", .rate(minute.rate(.notifications(.invalid)))),
                Row("unknown_app", "Of unknown apps, in 10 min", .count(unknown), .notable, if: unknown > 0),
                Row("refused", "Refused, in 10 min", .count(refused), .bad, if: refused > 0),
                Row("applied", "Applied", .rate(minute.rate(.notificationsApplied))),
                Row("apply_p99", "Until applied, p99", .latency(minute.quantile(0.99, of: .notifications))),
                Row("pending", "Pending", .count(apps.reduce(0) { $0 + $1.pending })),
                Row("pending_bytes", "their size", .bytes(apps.reduce(0) { $0 + $1.pendingBytes })),
                Row("oldest_pending_seconds", "the oldest, since", .span(apps.compactMap(\.oldestPendingAge).max())),
                Row("recoveries_failed", "Recoveries failed, in 10 min", .count(failed), .notable, if: failed > 0),
                Row(
                    "store_fault", "Store",
                    fault.map { .word($0.rawValue) } ?? .none(shown: apps.isEmpty ? StatusValue.nothing : "ready"),
                    .bad, if: fault != nil),
            ])
    }

    private func byApp(_ apps: [AppNotifications]) -> StatusTable {
        StatusTable(
            "notification_apps", "Notifications by app",
            columns: [
                Heading("last_age_seconds", "last one, ago"), Heading("pending", "pending"),
                Heading("dead_letters", "dead letters"),
            ],
            rows: apps.prefix(Limits.apps).map { app in
                Row(
                    heading: Heading(app.bundleID, app.bundleID),
                    cells: [
                        .init(.span(app.lastIntakeAge)), .init(.count(app.pending)),
                        .init(.count(app.deadLetters), .notable, if: app.deadLetters > 0),
                    ])
            })
    }

    func notificationIssues(_ windows: StatusWindows) -> [StatusIssue?] {
        let apps = notifications.apps
        return intakeIssues(windows.all, apps) + [backlogIssue(apps), silenceIssue(apps)]
    }

    private func intakeIssues(_ window: StatusWindow, _ apps: [AppNotifications]) -> [StatusIssue?] {
        let refused = window.count(.notifications(.refused)), unknown = window.count(.notifications(.unknownApp))
        let dead = window.count(.deadLetters), failed = window.count(.recoveriesFailed)
        let fault = apps.compactMap(\.fault).first.map { " The reason now is \($0.rawValue)." } ?? ""
        return [
            StatusIssue(
                if: refused > 0, .warning, "\(refused) of Apple's notifications were not stored in ten minutes.",
                "Apple sends production notifications again." + fault, .notificationsRefused),
            StatusIssue(
                if: unknown > 0, .warning,
                "\(unknown) of Apple's notifications in ten minutes were for apps that are not configured.",
                "The log names the app. Name it in the clients file.", .notificationUnknownApp),
            StatusIssue(
                if: dead > 0, .warning, "\(dead) stored notifications could not be applied.",
                "They are dead letters now. The metrics count the reasons.", .notificationDeadLetters),
            StatusIssue(
                if: failed >= StatusThresholds.fewestFailedRecoveries && window.count(.recoveries) == 0, .warning,
                "Apple's notification history cannot be read.",
                "Notifications that Apple could not deliver stay unknown. Check the key of the App Store Server API.",
                .notificationRecoveryFailing),
        ]
    }

    private func backlogIssue(_ apps: [AppNotifications]) -> StatusIssue? {
        let oldest = apps.compactMap(\.oldestPendingAge).max() ?? .zero
        let bytes = apps.reduce(0) { $0 + $1.pendingBytes }
        let limit = Double(configuration.notifications.backlog.bytes)
        return StatusIssue(
            if: oldest > StatusThresholds.oldestPending || Double(bytes) > StatusThresholds.backlogShare * limit,
            .warning,
            "\(apps.reduce(0) { $0 + $1.pending }) notifications wait to be applied, the oldest for "
                + "\(StatusValue.span(oldest).text).",
            "Until then answers rest on what was known before. Check Redis.", .notificationBacklog)
    }

    /// An app may have few notifications: this is only worth a look.
    private func silenceIssue(_ apps: [AppNotifications]) -> StatusIssue? {
        let silent = apps.filter { app in app.lastIntakeAge.map { StatusThresholds.silence.contains($0) } ?? false }
        return StatusIssue(
            if: !silent.isEmpty, .info, "No notification for a day: \(silent.map(\.bundleID).listed).",
            "Usual for an app with few purchases. Else check the URL with receipt-gateway notifications test.",
            .notificationsSilent)
    }

    // MARK: - Webhooks

    /// The table about webhooks; nil without endpoints.
    func webhookTable(at now: Timestamp) -> StatusTable? {
        let endpoints = webhooks.endpoints.prefix(Limits.endpoints), attempts = lastAttempts()
        guard !endpoints.isEmpty else { return nil }
        return StatusTable(
            "webhooks", "Webhooks", note: "last failure: of this node",
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
                .init(.span(lag), .bad, if: lag > StatusThresholds.webhookLag),
                .init(.count(Int(clamping: endpoint.unread))), .init(.count(endpoint.held)),
                .init(.count(endpoint.dead), .notable, if: endpoint.dead > 0),
                .init(disabledFor.map { .span($0) } ?? .none(shown: "enabled"), .bad, if: disabledFor != nil),
                .init(last.fault.map { .word($0.rawValue) } ?? .none(shown: "none"), .notable, if: last.isFailing),
                .init(.span(last.failedAt.map { max(.zero, $0.duration(to: now)) })),
            ])
    }

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

    // MARK: - Deferred verifications

    /// The table about deferred verifications; nil until there was a job, at this node or in the store.
    func jobTable(_ windows: StatusWindows) -> StatusTable? {
        let survey = jobs.last ?? JobSurvey(), (minute, all) = (windows.minute, windows.all)
        guard survey.waiting + survey.failed + all.count(.jobCounts) > 0 else { return nil }
        let refused = all.count(.jobsRefused), lost = all.count(.jobsLost), oldest = survey.oldestAge ?? .zero
        return StatusTable(
            "deferred_verifications", "Deferred verifications", note: "rates of the last minute",
            rows: [
                Row("created", "Deferred", .rate(minute.rate(.jobsCreated))),
                Row("done", "Ended with a verdict", .rate(minute.rate(.jobsDone))),
                Row("time_p50", "Until the verdict, p50", .latency(minute.quantile(0.5, of: .jobs))),
                Row("waiting", "Waiting", .count(survey.waiting)),
                Row("waiting_bytes", "their size", .bytes(survey.bytes)),
                Row(
                    "oldest_seconds", "the oldest, since", .span(survey.oldestAge),
                    .notable, if: oldest > StatusThresholds.oldestJob),
                Row("refused", "Refused by a limit, in 10 min", .count(refused), .notable, if: refused > 0),
                Row("lost", "Ended without a verdict, in 10 min", .count(lost), .bad, if: lost > 0),
                Row("failed", "Failed ones, kept", .count(survey.failed), .notable, if: survey.failed > 0),
            ])
    }

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
        let oldest = survey.oldestAge ?? .zero, maximumAge = configuration.jobs.maximumAge
        let answered = UpstreamEndpoint.allCases.reduce(0) { $0 + minute.count(.answered($1)) }
        let isLate = oldest > StatusThresholds.oldestJob && answered > 0
        return StatusIssue(
            if: isLate || oldest > maximumAge / 2, .warning,
            "\(survey.waiting) deferred verifications wait, the oldest for \(StatusValue.span(oldest).text).",
            "They expire after \(StatusValue.span(maximumAge).text). Check the connection to Apple and its budget.",
            .deferredVerificationsStalled)
    }
}

extension StatusThresholds {
    fileprivate static let oldestPending: Duration = .seconds(60)
    /// The share of `gateway.notifications.backlog`.
    fileprivate static let backlogShare = 0.8
    fileprivate static let fewestFailedRecoveries = 3
    /// After a week an app is not expected to have notifications.
    fileprivate static let silence: Range<Duration> = .seconds(86_400) ..< .seconds(7 * 86_400)
    /// As in the alert.
    fileprivate static let webhookLag: Duration = .seconds(300)
    /// The lag of an endpoint whose last attempt failed: the second attempt comes after five seconds.
    fileprivate static let failingLag: Duration = .seconds(60)
    /// The time for which the page shows a loss.
    fileprivate static let missed: Duration = .seconds(600)
    /// As in the alert.
    fileprivate static let oldestJob: Duration = .seconds(2 * 3600)
}

extension [EndpointSurvey] {
    fileprivate var listed: String { map(\.name).listed }
}

extension LastAttempts {
    fileprivate func hasMissed(since now: Timestamp) -> Bool {
        missedAt.map { $0.duration(to: now) < StatusThresholds.missed } ?? false
    }
}

extension [StatusCount] {
    static let receivedNotifications = IntakeOutcome.allCases.map { StatusCount.notifications($0) }
    fileprivate static let jobCounts: [StatusCount] = [.jobsCreated, .jobsDone, .jobsRefused, .jobsLost]
}
