// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers

extension MetricCatalogue {
    package static let notificationsReceived = MetricFamily(
        "receipt_gateway_notifications_received_total", .counter,
        "App Store Server Notifications that arrived, or were found in Apple's history.",
        by: ReceivedNotificationLabels.self)
    package static let notificationsRefused = MetricFamily(
        "receipt_gateway_notifications_refused_total", .counter, "Genuine notifications that could not be stored.",
        by: NotificationStoreFault.self)
    package static let notificationsApplied = MetricFamily(
        "receipt_gateway_notifications_applied_total", .counter, "Notifications that took effect.",
        by: NotificationEffect.self)
    package static let notificationApplySeconds = MetricFamily(
        "receipt_gateway_notification_apply_seconds",
        .histogram(buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600]),
        "The time from the intake of a notification to its effect.")
    package static let notificationDeadLetters = MetricFamily(
        "receipt_gateway_notification_dead_letters_total", .counter, "Stored notifications that cannot be applied.",
        by: DeadLetterReason.self)
    package static let notificationRecoveries = MetricFamily(
        "receipt_gateway_notification_recoveries_total", .counter, "Reads of Apple's notification history.",
        by: RecoveryOutcome.self)

    // MARK: - From the last survey of the store, of all nodes together

    package static let notificationBacklogEntries = MetricFamily(
        "receipt_gateway_notification_backlog_entries", .gauge, "Notifications that are stored and not applied yet.")
    package static let notificationBacklogBytes = MetricFamily(
        "receipt_gateway_notification_backlog_bytes", .gauge, "The size of these notifications in the store.")
    package static let notificationBacklogLimit = MetricFamily(
        "receipt_gateway_notification_backlog_limit_bytes", .gauge,
        "The maximum of this size: gateway.notifications.backlog.")
    package static let notificationOldestPending = MetricFamily(
        "receipt_gateway_notification_oldest_pending_seconds", .gauge,
        "The time since the oldest of these notifications was stored; 0 without one.")
    package static let notificationDeadLettersStored = MetricFamily(
        "receipt_gateway_notification_dead_letters", .gauge, "Dead letters in the store.")
    /// An operator must learn which app's notifications Apple sends elsewhere. The labels name the apps that the
    /// gateway serves.
    package static let notificationLastAge = MetricFamily(
        readAtScrape: "receipt_gateway_notification_last_age_seconds",
        "The time since the last notification of an app, at any node; no series if unknown.", labelNames: ["bundle_id"])

    static let notifications = [
        notificationsReceived, notificationsRefused, notificationsApplied, notificationApplySeconds,
        notificationDeadLetters, notificationRecoveries, notificationBacklogEntries, notificationBacklogBytes,
        notificationBacklogLimit, notificationOldestPending, notificationDeadLettersStored, notificationLastAge,
    ]
}

package struct ReceivedNotificationLabels: SeriesLabels {
    /// Nil for a body of neither version.
    let version: NotificationRecord.Version?
    let origin: NotificationOrigin
    package let outcome: IntakeOutcome

    package static let labelNames = ["version", "origin", "outcome"]
    package var labelValues: [String] { [version?.name ?? "unknown", origin.rawValue, outcome.rawValue] }

    package static let allCases = (NotificationRecord.Version.allCases + [nil]).flatMap { version in
        NotificationOrigin.allCases.flatMap { origin in
            IntakeOutcome.allCases.map {
                ReceivedNotificationLabels(version: version, origin: origin, outcome: $0)
            }
        }
    }
}

package enum NotificationEffect: String, SeriesLabels {
    /// The state of a customer is newer than before.
    case changed
    /// The state was known, or the notification has none.
    case unchanged

    package static let labelNames = ["effect"]
}

package enum RecoveryOutcome: String, SeriesLabels {
    case succeeded, failed

    package static let labelNames = ["outcome"]
}

extension NotificationStoreFault: SeriesLabels {
    package static var labelNames: [String] { ["reason"] }
}

extension DeadLetterReason: SeriesLabels {
    package static var labelNames: [String] { ["reason"] }
}
