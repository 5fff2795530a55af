// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Gateway
internal import Receipts
internal import Telemetry

// Apple's notifications: the rates are this node's, the contents of the store are the whole fleet's.
extension StatusSources {
    private typealias Row = StatusTable.Row
    private typealias Heading = StatusTable.Heading

    private enum Limits {
        /// The apps on the page, in alphabetical order. The metrics have all apps.
        static let apps = 50
    }

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
        return StatusTable(
            heading: .init("notifications", "Apple's notifications"), note: "rates of the last minute",
            columns: StatusTable.onlyColumn,
            rows: [
                Row("stored", "Stored", .rate(minute.rate(.notifications(.stored)))),
                Row("duplicates", "Duplicates", .rate(minute.rate(.notifications(.duplicate)))),
                Row("invalid", "Invalid", .rate(minute.rate(.notifications(.invalid)))),
                row("unknown_app", "Of unknown apps, in 10 min", all.count(.notifications(.unknownApp)), .notable),
                row("refused", "Refused, in 10 min", all.count(.notifications(.refused)), .bad),
                Row("applied", "Applied", .rate(minute.rate(.notificationsApplied))),
                Row("apply_p99", "Until applied, p99", .latency(minute.quantile(0.99, of: .notifications))),
                Row("pending", "Pending", .count(apps.reduce(0) { $0 + $1.pending })),
                Row("pending_bytes", "their size", .bytes(apps.reduce(0) { $0 + $1.pendingBytes })),
                Row("oldest_pending_seconds", "the oldest, since", .span(apps.compactMap(\.oldestPendingAge).max())),
                row("recoveries_failed", "Recoveries failed, in 10 min", all.count(.recoveriesFailed), .notable),
                Row(
                    "store_fault", "Store",
                    fault.map { .word($0.rawValue) } ?? .none(shown: apps.isEmpty ? StatusValue.nothing : "ready"),
                    fault == nil ? .plain : .bad),
            ])
    }

    private func row(_ name: String, _ title: String, _ count: Int, _ tone: StatusTone) -> Row {
        Row(name, title, .count(count), count > 0 ? tone : .plain)
    }

    private func byApp(_ apps: [AppNotifications]) -> StatusTable {
        StatusTable(
            heading: .init("notification_apps", "Notifications by app"), note: "",
            columns: [
                Heading("last_age_seconds", "last one, ago"), Heading("pending", "pending"),
                Heading("dead_letters", "dead letters"),
            ],
            rows: apps.prefix(Limits.apps).map { app in
                Row(
                    heading: Heading(app.bundleID, app.bundleID),
                    cells: [
                        .init(value: .span(app.lastIntakeAge)), .init(value: .count(app.pending)),
                        .init(value: .count(app.deadLetters), tone: app.deadLetters > 0 ? .notable : .plain),
                    ])
            })
    }
}

// MARK: - Issues

extension StatusSources {
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
                "Apple sends those of production again." + fault, .notificationsRefused),
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
        let isNearlyFull = Double(bytes) > StatusThresholds.backlogShare * Double(notificationBacklog)
        return StatusIssue(
            if: oldest > StatusThresholds.oldestPending || isNearlyFull, .warning,
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
}

extension StatusThresholds {
    fileprivate static let oldestPending: Duration = .seconds(60)
    /// The share of `gateway.notifications.backlog`.
    fileprivate static let backlogShare = 0.8
    fileprivate static let fewestFailedRecoveries = 3
    /// After a week an app is not expected to have notifications.
    fileprivate static let silence: Range<Duration> = .seconds(86_400) ..< .seconds(7 * 86_400)
}

extension [StatusCount] {
    static let receivedNotifications = IntakeOutcome.allCases.map { StatusCount.notifications($0) }
}
