// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Logging
package import Receipts
internal import Synchronization

/// Counts the events in the handling of notifications, and logs the events that need an operator.
package final class NotificationMetrics: Sendable {
    private let received: [ReceivedNotificationLabels: PrometheusCounter]
    private let refused: [NotificationStoreFault: PrometheusCounter]
    private let applied: [NotificationEffect: PrometheusCounter]
    private let applySeconds: PrometheusHistogram
    private let deadLetters: [DeadLetterReason: PrometheusCounter]
    private let recoveries: [RecoveryOutcome: PrometheusCounter]
    private let events: [EventType: PrometheusCounter]
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    private let reported = Mutex(ReportedSubjects())

    package init(_ registry: PrometheusRegistry, logger: Logger, clock: @escaping @Sendable () -> Timestamp) {
        received = registry.counters(MetricCatalogue.notificationsReceived)
        refused = registry.counters(MetricCatalogue.notificationsRefused)
        applied = registry.counters(MetricCatalogue.notificationsApplied)
        applySeconds = registry.histogram(MetricCatalogue.notificationApplySeconds)
        deadLetters = registry.counters(MetricCatalogue.notificationDeadLetters)
        recoveries = registry.counters(MetricCatalogue.notificationRecoveries)
        events = registry.counters(MetricCatalogue.eventsWritten)
        self.logger = logger
        self.clock = clock
    }

    package func observe(_ event: NotificationEvent) {
        switch event {
        case .received(let outcome, let version, let origin):
            received[ReceivedNotificationLabels(version: version, origin: origin, outcome: outcome)]?.increment()
        case .unknownApp(let bundleID): reportUnknownApp(bundleID)
        case .refused(let fault):
            refused[fault]?.increment()
            report(fault)
        case .applied(let changed, let age):
            applied[changed ? .changed : .unchanged]?.increment()
            applySeconds.record(age / .seconds(1))
        case .deadLetter(let reason):
            deadLetters[reason]?.increment()
            logger.warning(
                "A stored notification cannot be applied and was moved to the dead letters",
                metadata: ["reason": "\(reason.rawValue)"])
        case .event(let type): events[type]?.increment()
        case .recovery(let succeeded):
            recoveries[succeeded ? .succeeded : .failed]?.increment()
            if !succeeded { reportFailedRecovery() }
        }
    }

    /// Reports a store that may lose what it holds: it needs an operator even while no notification arrives.
    package func report(_ fault: NotificationStoreFault?) {
        guard fault == .evicts, isFirstReport(of: "store") else { return }
        logger.error(
            "Notifications are refused: Redis may evict them. Set its maxmemory-policy to noeviction",
            metadata: ["reason": "\(NotificationStoreFault.evicts.rawValue)"])
    }

    private func reportFailedRecovery() {
        guard isFirstReport(of: "recovery") else { return }
        logger.warning(
            """
            Apple's notification history was not read to its end, and is tried again. \
            receipt-gateway notifications backfill shows the reason
            """)
    }

    private func reportUnknownApp(_ bundleID: String) {
        guard isFirstReport(of: "app \(bundleID)") else { return }
        logger.warning(
            "Apple sends notifications of an app that is not configured. Name it in the clients file",
            metadata: ["bundle_id": "\(bundleID)"])
    }

    private func isFirstReport(of subject: String) -> Bool {
        let now = clock()
        return reported.withLock { $0.insert(subject, at: now) }
    }
}

/// The subjects of log lines of the last hour: one line for each is enough.
struct ReportedSubjects {
    enum Limits {
        static let interval: Duration = .seconds(3600)
        /// Beyond it, further subjects get no line within the hour.
        static let subjects = 100
    }

    private var reported: [String: Timestamp] = [:]

    /// Returns true for a subject that was not reported in the last hour.
    mutating func insert(_ subject: String, at now: Timestamp) -> Bool {
        reported = reported.filter { now < $0.value.advanced(by: Limits.interval) }
        guard reported[subject] == nil, reported.count < Limits.subjects else { return false }
        reported[subject] = now
        return true
    }
}
