// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix
internal import Receipts
internal import Synchronization

/// Sends notifications over HTTP, and tries again as Apple does.
final class NotificationSender: Sendable {
    private struct State {
        var queue: SimulatedDeliveries
        var timers: [Int64: Timer] = [:]
        var nextTimer: Int64 = 0
        var counts = NotificationStats()
        var isStopped = false
        var idleWaiters: [CheckedContinuation<Void, Never>] = []

        var isIdle: Bool { queue.count == 0 && timers.isEmpty }

        /// Returns the callers that wait for the end of all deliveries, if it is reached.
        mutating func takeIdleWaiters() -> [CheckedContinuation<Void, Never>] {
            guard isIdle else { return [] }
            defer { idleWaiters = [] }
            return idleWaiters
        }
    }

    /// A delay or the wait for a retry.
    private struct Timer {
        let task: Scheduled<Void>
        let isRetry: Bool
    }

    private let state: Mutex<State>
    private let registry: NotificationRegistry
    private let limits: SimulatorLimits
    private let now: @Sendable () -> Timestamp

    init(registry: NotificationRegistry, limits: SimulatorLimits, now: @escaping @Sendable () -> Timestamp) {
        self.registry = registry
        self.limits = limits
        self.now = now
        state = Mutex(State(queue: SimulatedDeliveries(maximumInFlight: limits.maximumNotificationsInFlight)))
    }

    /// Sends a notification, and retries it after its waits.
    func send(_ delivery: NotificationDelivery, after delay: Duration = .zero) {
        let started = state.withLock { state -> NotificationDelivery? in
            guard !state.isStopped else { return nil }
            guard delay > .zero else { return state.queue.add(delivery) }
            schedule(delivery, after: delay, &state)
            return nil
        }
        if let started { start(started) }
    }

    /// Throws unless this many more deliveries have room.
    func requireRoom(for count: Int) throws(ControlError) {
        let waiting = state.withLock { $0.queue.count + $0.timers.count }
        guard waiting + count <= limits.maximumWaitingNotifications else {
            throw .tooManyNotifications(maximum: limits.maximumWaitingNotifications)
        }
    }

    private func schedule(_ delivery: NotificationDelivery, after delay: Duration, _ state: inout State) {
        state.nextTimer += 1
        let number = state.nextTimer
        let task = MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: TimeAmount(delay)) { [self] in
            fire(number, delivery)
        }
        state.timers[number] = Timer(task: task, isRetry: delivery.attempt > 1)
    }

    private func fire(_ number: Int64, _ delivery: NotificationDelivery) {
        let started = state.withLock { state -> NotificationDelivery? in
            guard state.timers.removeValue(forKey: number) != nil else { return nil }
            return state.queue.add(delivery)
        }
        if let started { start(started) }
    }

    private func start(_ delivery: NotificationDelivery) {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        // The address at this moment: it may have changed since the last attempt.
        guard let url = registry.destination(of: delivery.app)?.url else {
            return loop.execute { [self] in finish(delivery, .noResponse) }
        }
        NotificationPost(url: url, body: delivery.body, timeout: limits.notificationTimeout).send(on: loop)
            .whenSuccess { [self] result in finish(delivery, result) }
    }

    private func finish(_ delivery: NotificationDelivery, _ result: SendAttemptResult) {
        if let entry = delivery.entry {
            let attempt = NotificationAttempt(date: now(), result: result)
            registry.log.withLock { $0.record(attempt, of: entry) }
        }
        let (started, waiters) = state.withLock { state in
            state.counts.count(result)
            if result != .success, let retry = delivery.retry, !state.isStopped {
                schedule(retry.delivery, after: retry.wait, &state)
            }
            return (state.queue.finish(), state.takeIdleWaiters())
        }
        for waiter in waiters { waiter.resume() }
        if let started { start(started) }
    }
}

extension NotificationSender {
    var stats: NotificationStats {
        state.withLock { state in
            var counts = state.counts
            counts.pendingRetries = state.timers.values.count(where: \.isRetry)
            counts.pending = state.queue.count + state.timers.count - counts.pendingRetries
            return counts
        }
    }

    func resetStats() {
        state.withLock { $0.counts = NotificationStats() }
    }

    /// Waits until nothing is in flight, delayed or to be tried again.
    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if !state.isIdle { state.idleWaiters.append(continuation) }
                return state.isIdle
            }
            if isIdle { continuation.resume() }
        }
    }

    /// Drops all that is not in flight, and sends nothing more.
    func stop() {
        let (timers, waiters) = state.withLock { state in
            state.isStopped = true
            state.queue.removeWaiting()
            let timers = state.timers
            state.timers.removeAll()
            return (timers, state.takeIdleWaiters())
        }
        for timer in timers.values { timer.task.cancel() }
        for waiter in waiters { waiter.resume() }
    }
}
