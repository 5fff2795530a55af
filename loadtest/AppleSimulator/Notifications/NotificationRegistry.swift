// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

/// The notifications of all apps, and the addresses they are sent to.
final class NotificationRegistry: Sendable {
    private struct State {
        var destinations: [AppInStore: NotificationDestination] = [:]
        var log: NotificationLog
    }

    private let state: Mutex<State>
    private let limits: SimulatorLimits
    private let timeScale: Double

    /// - Parameter timeScale: the factor of the waits between attempts, unless a destination has its own.
    init(limits: SimulatorLimits, timeScale: Double) {
        self.limits = limits
        self.timeScale = timeScale
        state = Mutex(State(log: NotificationLog(maximumCount: limits.maximumNotifications)))
    }

    func destination(of app: AppInStore) -> NotificationDestination? {
        state.withLock { $0.destinations[app] }
    }

    /// Sets the destination of an app's notifications; nil removes it.
    func setDestination(_ destination: NotificationDestination?, of app: AppInStore) throws(ControlError) {
        try state.withLock { state throws(ControlError) in
            let isFull = state.destinations.count >= limits.maximumNotificationURLs
            guard destination == nil || state.destinations[app] != nil || !isFull else {
                throw .tooManyNotificationURLs(maximum: limits.maximumNotificationURLs)
            }
            state.destinations[app] = destination
        }
    }

    /// Returns the retries of an app's notifications.
    func schedule(of app: AppInStore, _ destination: NotificationDestination) -> RetrySchedule {
        RetrySchedule(destination.version, at: app.endpoint, timeScale: destination.timeScale ?? timeScale)
    }
}

extension NotificationRegistry {
    /// Adds an entry to the history, and returns its number.
    func add(_ entry: NotificationLog.Entry) -> Int64 {
        state.withLock { $0.log.add(entry) }
    }

    func record(_ attempt: NotificationAttempt, of number: Int64) {
        state.withLock { $0.log.record(attempt, of: number) }
    }

    func entry(uuid: String, of app: AppInStore) -> NotificationLog.Entry? {
        state.withLock { $0.log.entry(uuid: uuid, of: app) }
    }

    func page(
        after number: Int64, count: Int, where isIncluded: (NotificationLog.Entry) -> Bool
    ) -> (entries: [NotificationLog.Entry], continuation: Int64?) {
        state.withLock { $0.log.page(after: number, count: count, where: isIncluded) }
    }
}
