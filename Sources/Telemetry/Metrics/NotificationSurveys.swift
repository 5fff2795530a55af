// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers
internal import Gateway
package import Receipts
internal import Synchronization

/// The last survey of each app's notifications in the store, which each scrape reads.
package final class NotificationSurveys: Sendable {
    private struct AppSurvey {
        let partitions: [QueueSurvey]
        let time: Timestamp

        /// Returns the time since the last intake, by this node's clock; nil if unknown.
        func lastIntakeAge(at now: Timestamp) -> Duration? {
            partitions.compactMap(\.lastIntakeAge).min().map { max(.zero, time.duration(to: now) + $0) }
        }
    }

    private let isServed: @Sendable (_ bundleID: String) -> Bool
    private let clock: @Sendable () -> Timestamp
    private let surveys = Mutex<[String: AppSurvey]>([:])

    /// - Parameter isServed: returns false for an app whose survey is to be forgotten.
    package init(
        isServed: @escaping @Sendable (_ bundleID: String) -> Bool, clock: @escaping @Sendable () -> Timestamp
    ) {
        self.isServed = isServed
        self.clock = clock
    }

    /// Records the survey of an app. A survey without all partitions is dropped: the store was not reachable.
    package func record(_ partitions: [QueueSurvey], ofApp bundleID: String) {
        let time = clock()
        surveys.withLock { surveys in
            surveys = surveys.filter { isServed($0.key) }
            guard partitions.count == AppPartition.count else { return }
            surveys[bundleID] = AppSurvey(partitions: partitions, time: time)
        }
    }

    private var current: [String: AppSurvey] { surveys.withLock { $0.filter { isServed($0.key) } } }

    /// The values of all partitions of all apps.
    private func values<Value>(_ value: (QueueSurvey) -> Value?) -> [Value] {
        current.values.flatMap(\.partitions).compactMap(value)
    }

    package var readings: [MetricReading] {
        [
            MetricReading(MetricCatalogue.notificationBacklogEntries) {
                Double(self.values(\.entries).reduce(0, +))
            },
            MetricReading(MetricCatalogue.notificationBacklogBytes) { Double(self.values(\.bytes).reduce(0, +)) },
            MetricReading(MetricCatalogue.notificationOldestPending) {
                (self.values(\.oldestAge).max() ?? .zero) / .seconds(1)
            },
            MetricReading(MetricCatalogue.notificationDeadLettersStored) {
                Double(self.values(\.deadLetters).reduce(0, +))
            },
        ]
    }

    package var lastAges: SeriesReading {
        SeriesReading(MetricCatalogue.notificationLastAge) {
            let now = self.clock()
            return Dictionary(
                uniqueKeysWithValues: self.current.compactMap { bundleID, survey in
                    survey.lastIntakeAge(at: now).map { ([bundleID], $0 / .seconds(1)) }
                })
        }
    }

    /// The notifications of each app, in alphabetical order.
    package var apps: [AppNotifications] {
        let now = clock()
        return current.sorted { $0.key < $1.key }.map { bundleID, survey in
            AppNotifications(
                bundleID: bundleID, lastIntakeAge: survey.lastIntakeAge(at: now),
                pending: survey.partitions.reduce(0) { $0 + $1.entries },
                pendingBytes: survey.partitions.reduce(0) { $0 + $1.bytes },
                oldestPendingAge: survey.partitions.compactMap(\.oldestAge).max(),
                deadLetters: survey.partitions.reduce(0) { $0 + $1.deadLetters },
                fault: survey.partitions.compactMap(\.fault).first)
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
