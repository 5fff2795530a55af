// SPDX-License-Identifier: Apache-2.0

package import Customers
internal import Gateway
package import Logging
package import Receipts
internal import Synchronization

extension MetricCatalogue {
    package static let notificationsReceived = MetricFamily(
        "receipt_gateway_notifications_received_total", .counter,
        "App Store Server Notifications that arrived, or were found in Apple's history.",
        by: ReceivedNotificationLabels.self)
    package static let notificationsRefused = MetricFamily(
        "receipt_gateway_notifications_refused_total", .counter, "Genuine notifications that could not be stored.",
        by: NotificationStoreFault.self)
    package static let notificationUnreadableItems = MetricFamily(
        "receipt_gateway_notification_unreadable_items_total", .counter,
        "Transactions and plans in stored notifications that cannot be read.")
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
    /// The labels name served apps: an operator must learn whose notifications Apple sends elsewhere.
    package static let notificationLastAge = MetricFamily(
        readAtScrape: "receipt_gateway_notification_last_age_seconds",
        "The time since the last notification of an app, at any node; no series if unknown.", labelNames: ["bundle_id"])

    static let notifications = [
        notificationsReceived, notificationsRefused, notificationUnreadableItems, notificationsApplied,
        notificationApplySeconds, notificationDeadLetters, notificationRecoveries, notificationBacklogEntries,
        notificationBacklogBytes, notificationBacklogLimit, notificationOldestPending, notificationDeadLettersStored,
        notificationLastAge,
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

extension NotificationStoreFault: SeriesLabels { package static let labelNames = ["reason"] }
extension DeadLetterReason: SeriesLabels { package static let labelNames = ["reason"] }

/// Counts the events in the handling of notifications, and logs the events that need an operator.
package final class NotificationMetrics: Sendable {
    private let registry: PrometheusRegistry
    private let log: OperatorLog

    package init(_ registry: PrometheusRegistry, logger: Logger, clock: @escaping @Sendable () -> Timestamp) {
        self.registry = registry
        log = OperatorLog(logger, clock: clock)
    }

    package func observe(_ event: NotificationEvent) {
        switch event {
        case .received(let outcome, let version, let origin):
            registry.count(
                MetricCatalogue.notificationsReceived,
                ReceivedNotificationLabels(version: version, origin: origin, outcome: outcome))
        case .unknownApp(let bundleID):
            log.log(
                about: "app \(bundleID)",
                "Apple sends notifications of an app that is not configured. Name it in the clients file",
                metadata: ["bundle_id": "\(bundleID)"])
        case .refused(let fault):
            registry.count(MetricCatalogue.notificationsRefused, fault)
            report(fault)
        case .unreadableItem(let fault):
            registry.counter(MetricCatalogue.notificationUnreadableItems).increment()
            log.logger.warning(
                "A notification has an item that cannot be read. The rest of it counts",
                metadata: ["fault": "\(fault)"])
        case .applied(let changed, let age):
            registry.count(MetricCatalogue.notificationsApplied, changed ? NotificationEffect.changed : .unchanged)
            registry.histogram(MetricCatalogue.notificationApplySeconds).record(age / .seconds(1))
        case .deadLetter(let reason):
            registry.count(MetricCatalogue.notificationDeadLetters, reason)
            log.logger.warning(
                "A stored notification cannot be applied and was moved to the dead letters",
                metadata: ["reason": "\(reason.rawValue)"])
        case .event(let type): registry.count(MetricCatalogue.eventsWritten, type)
        case .recovery(let succeeded):
            registry.count(MetricCatalogue.notificationRecoveries, succeeded ? RecoveryOutcome.succeeded : .failed)
            if !succeeded { reportFailedRecovery() }
        }
    }

    /// Reports a store that may lose what it holds: it needs an operator even while no notification arrives.
    package func report(_ fault: NotificationStoreFault?) {
        guard fault == .evicts else { return }
        log.log(
            about: "store", level: .error,
            "Notifications are refused: Redis may evict them. \(NotificationStoreFault.evictionAdvice)",
            metadata: ["reason": "\(NotificationStoreFault.evicts.rawValue)"])
    }

    private func reportFailedRecovery() {
        log.log(
            about: "recovery",
            """
            Apple's notification history was not read to its end, and is tried again. \
            receipt-gateway notifications backfill shows the reason
            """)
    }
}

/// The last survey of each app's notifications in the store, which each scrape reads.
package final class NotificationSurveys: Sendable {
    private let isServed: @Sendable (_ bundleID: String) -> Bool
    private let clock: @Sendable () -> Timestamp
    private let surveys = Mutex<[String: (partitions: [QueueSurvey], time: Timestamp)]>([:])

    /// - Parameter isServed: returns false for an app whose survey is to be forgotten.
    package init(
        isServed: @escaping @Sendable (_ bundleID: String) -> Bool, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.isServed, self.clock) = (isServed, clock)
    }

    /// Records the survey of an app. A survey without all partitions is dropped: the store was not reachable.
    package func record(_ partitions: [QueueSurvey], ofApp bundleID: String) {
        let time = clock()
        surveys.withLock { surveys in
            surveys = surveys.filter { isServed($0.key) }
            guard partitions.count == AppPartition.count else { return }
            surveys[bundleID] = (partitions, time)
        }
    }

    package var readings: [MetricReading] {
        [
            reading(MetricCatalogue.notificationBacklogEntries) { Double($0.reduce(0) { $0 + $1.pending }) },
            reading(MetricCatalogue.notificationBacklogBytes) { Double($0.reduce(0) { $0 + $1.pendingBytes }) },
            reading(MetricCatalogue.notificationOldestPending) {
                ($0.compactMap(\.oldestPendingAge).max() ?? .zero) / .seconds(1)
            },
            reading(MetricCatalogue.notificationDeadLettersStored) { Double($0.reduce(0) { $0 + $1.deadLetters }) },
        ]
    }

    private func reading(
        _ family: MetricFamily, _ value: @escaping @Sendable ([AppNotifications]) -> Double
    ) -> MetricReading {
        MetricReading(family) { value(self.apps) }
    }

    package var lastAges: SeriesReading {
        SeriesReading(MetricCatalogue.notificationLastAge) {
            Dictionary(
                uniqueKeysWithValues: self.apps.compactMap { app in
                    app.lastIntakeAge.map { ([app.bundleID], $0 / .seconds(1)) }
                })
        }
    }

    /// The notifications of each app, in alphabetical order. Ages are by this node's clock.
    package var apps: [AppNotifications] {
        let now = clock()
        let current = surveys.withLock { $0.filter { isServed($0.key) } }
        return current.sorted { $0.key < $1.key }.map { bundleID, survey in
            let (partitions, passed) = (survey.partitions, survey.time.duration(to: now))
            return AppNotifications(
                bundleID: bundleID,
                lastIntakeAge: partitions.compactMap(\.lastIntakeAge).min().map { max(.zero, passed + $0) },
                pending: partitions.reduce(0) { $0 + $1.entries },
                pendingBytes: partitions.reduce(0) { $0 + $1.bytes },
                oldestPendingAge: partitions.compactMap(\.oldestAge).max(),
                deadLetters: partitions.reduce(0) { $0 + $1.deadLetters },
                fault: partitions.compactMap(\.fault).first)
        }
    }
}

/// The notifications of one app in the store, at the last survey.
package struct AppNotifications: Hashable, Sendable {
    package let bundleID: String
    /// The time since the last intake, at any node; nil if unknown.
    package let lastIntakeAge: Duration?
    package let pending: Int
    package let pendingBytes: Int
    /// The time since the oldest pending notification was stored; nil if none is pending.
    package let oldestPendingAge: Duration?
    package let deadLetters: Int
    /// The reason why nothing may be stored; nil if all is well.
    package let fault: NotificationStoreFault?
}
