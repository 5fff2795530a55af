// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import Resilience

/// Wakes the readers that wait for events. One loop for all of them reads the newest positions of their partitions, in
/// one round trip, as long as any reader waits.
package final class EventWatcher: Sendable {
    package enum Limits {
        /// The time between two round trips: the delay of an event that another node wrote.
        static let interval: Duration = .milliseconds(250)
    }

    package enum Outcome: Hashable, Sendable {
        /// A partition may have a new event.
        case changed
        /// The time has passed, or the reader was cancelled.
        case elapsed
        /// The node stops.
        case stopped
    }

    fileprivate struct Watch: Sendable {
        let positions: [AppPartition: EventPosition]
        let waiter: Waiter<Outcome>
    }

    fileprivate struct State {
        var watches: [Int: Watch] = [:]
        var lastID = 0
        var isPolling = false
        var isStopped = false
    }

    private let log: any EventLog
    private let pause: @Sendable () async -> Void
    private let timeouts = Timeouts()
    private let state = Mutex(State())

    package convenience init(_ log: any EventLog) {
        self.init(log) { try? await Task.sleep(for: Limits.interval) }
    }

    /// - Parameter pause: returns after the time between two round trips.
    init(_ log: any EventLog, pause: @escaping @Sendable () async -> Void) {
        self.log = log
        self.pause = pause
    }

    package var isStopped: Bool { state.withLock { $0.isStopped } }

    /// The number of readers that wait.
    var count: Int { state.withLock { $0.watches.count } }

    /// Waits until one of these partitions may have an event after its position.
    package func wait(for positions: [AppPartition: EventPosition], upTo limit: Duration) async -> Outcome {
        let waiter = Waiter<Outcome>()
        guard let id = add(Watch(positions: positions, waiter: waiter)) else { return .stopped }
        defer { state.withLock { _ = $0.watches.removeValue(forKey: id) } }
        return await waiter.value(waitLimit: limit, timeouts) ?? .elapsed
    }

    /// Wakes the readers of a partition to which this node wrote an event.
    package func announce(_ partition: AppPartition) {
        wake(with: .changed) { $0.positions[partition] != nil }
    }

    /// Wakes all readers, for the last time.
    package func stop() {
        state.withLock { $0.isStopped = true }
        wake(with: .stopped) { _ in true }
    }

    private func add(_ watch: Watch) -> Int? {
        let (id, isFirst) = state.withLock { state -> (Int?, Bool) in
            guard !state.isStopped else { return (nil, false) }
            defer { state.isPolling = true }
            state.lastID += 1
            state.watches[state.lastID] = watch
            return (state.lastID, !state.isPolling)
        }
        // Detached: the loop is none of the first reader's request.
        if isFirst { Task.detached { await self.pollWhileWatched() } }
        return id
    }

    private func wake(with outcome: Outcome, _ isMeant: (Watch) -> Bool) {
        let watches = state.withLock { Array($0.watches.values) }
        for watch in watches where isMeant(watch) { watch.waiter.end(with: outcome) }
    }

    // MARK: - Loop

    private func pollWhileWatched() async {
        while state.withLock({ $0.keepsPolling() }) {
            await pause()
            await poll()
        }
    }

    private func poll() async {
        let watched = state.withLock { state in Set(state.watches.values.flatMap { $0.positions.keys }) }
        let partitions = Array(watched)
        // Without the store readers wait on: their next request reports it.
        guard !partitions.isEmpty, let newest = await log.newest(partitions, .events) else { return }
        let positions = Dictionary(zip(partitions, newest)) { $1 }
        wake(with: .changed) { watch in
            watch.positions.contains { partition, position in positions[partition].map { position < $0 } ?? false }
        }
    }
}

extension EventWatcher.State {
    /// - Returns: false if no reader waits, so that the loop must end.
    fileprivate mutating func keepsPolling() -> Bool {
        isPolling = !watches.isEmpty
        return isPolling
    }
}
