// SPDX-License-Identifier: Apache-2.0

internal import Resilience
internal import Synchronization

/// Wakes requests that wait for a change in a store. While any waits, one loop looks for changes for all of them.
package final class StoreWatcher<Interest: Sendable>: Sendable {
    package enum Outcome: Hashable, Sendable {
        /// The store may have what the request waits for.
        case changed
        /// The time has passed, the request was cancelled, or too many requests wait.
        case elapsed
        case stopped
    }

    package typealias Changes = @Sendable (Interest) -> Bool

    private struct Watch: Sendable {
        let interest: Interest
        let waiter: Waiter<Outcome>
    }

    private struct State {
        var watches: [Int: Watch] = [:]
        var lastID = 0
        var isPolling = false
        var isStopped = false

        /// - Returns: false if no request waits, so that the loop must end.
        mutating func keepsPolling() -> Bool {
            isPolling = !watches.isEmpty
            return isPolling
        }
    }

    private let maximumWaiting: Int
    private let pollsAtOnce: Bool
    private let pause: @Sendable () async -> Void
    private let changes: @Sendable ([Interest]) async -> Changes?
    private let timeouts = Timeouts()
    private let state = Mutex(State())

    /// - Parameters:
    ///   - maximumWaiting: the requests that wait at most; further requests are answered at once.
    ///   - pollsAtOnce: true if a change may have happened before the first request waited.
    ///   - pause: returns after the time between two round trips.
    ///   - changes: reads the store and returns which interests it concerns; nil while the store is unreachable,
    ///     when requests wait on.
    init(
        maximumWaiting: Int = .max, pollsAtOnce: Bool, pause: @escaping @Sendable () async -> Void,
        changes: @escaping @Sendable ([Interest]) async -> Changes?
    ) {
        (self.maximumWaiting, self.pollsAtOnce) = (maximumWaiting, pollsAtOnce)
        (self.pause, self.changes) = (pause, changes)
    }

    package var isStopped: Bool { state.withLock { $0.isStopped } }

    var count: Int { state.withLock { $0.watches.count } }

    package func wait(for interest: Interest, upTo limit: Duration) async -> Outcome {
        let waiter = Waiter<Outcome>()
        guard let id = add(Watch(interest: interest, waiter: waiter)) else { return isStopped ? .stopped : .elapsed }
        defer { state.withLock { _ = $0.watches.removeValue(forKey: id) } }
        return await waiter.value(waitLimit: limit, timeouts) ?? .elapsed
    }

    func wake(with outcome: Outcome = .changed, where isMeant: Changes) {
        let watches = state.withLock { Array($0.watches.values) }
        for watch in watches where isMeant(watch.interest) { watch.waiter.end(with: outcome) }
    }

    /// Wakes all requests, for the last time.
    package func stop() {
        state.withLock { $0.isStopped = true }
        wake(with: .stopped) { _ in true }
    }

    private func add(_ watch: Watch) -> Int? {
        let (id, isFirst) = state.withLock { state -> (Int?, Bool) in
            guard !state.isStopped, state.watches.count < maximumWaiting else { return (nil, false) }
            defer { state.isPolling = true }
            state.lastID += 1
            state.watches[state.lastID] = watch
            return (state.lastID, !state.isPolling)
        }
        // Detached: the loop does not belong to the first request.
        if isFirst { Task.detached { await self.pollWhileWatched() } }
        return id
    }

    private func pollWhileWatched() async {
        if pollsAtOnce { await poll() }
        while state.withLock({ $0.keepsPolling() }) {
            await pause()
            await poll()
        }
    }

    private func poll() async {
        let interests = state.withLock { $0.watches.values.map(\.interest) }
        guard !interests.isEmpty, let isMeant = await changes(interests) else { return }
        wake(where: isMeant)
    }
}

/// The limits of the two watchers: a generic type cannot have them.
private enum WatcherLimits {
    /// The time between two round trips for events: the delay of an event that another node wrote.
    static let eventInterval: Duration = .milliseconds(250)
    /// The time between two round trips for jobs: the delay of a job that ended on another node.
    static let jobInterval: Duration = .milliseconds(500)
    /// The requests that wait for jobs at most. Further requests are answered at once.
    static let waitingForJobs = 4096
}

// MARK: - Events

/// Wakes the readers that wait for events after their positions.
package typealias EventWatcher = StoreWatcher<[AppPartition: EventPosition]>

extension StoreWatcher<[AppPartition: EventPosition]> {
    /// - Parameter pause: returns after the time between two round trips.
    package convenience init(
        _ log: any EventLog,
        pause: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: WatcherLimits.eventInterval) }
    ) {
        self.init(pollsAtOnce: false, pause: pause) { interests in
            let partitions = Array(Set(interests.flatMap(\.keys)))
            guard let newest = await log.newest(partitions, .events) else { return nil }
            let positions = Dictionary(zip(partitions, newest)) { $1 }
            return { interest in
                interest.contains { partition, position in positions[partition].map { position < $0 } ?? false }
            }
        }
    }

    /// Wakes the readers of a partition to which this node wrote an event.
    package func announce(_ partition: AppPartition) { wake { $0[partition] != nil } }
}

// MARK: - Jobs

/// Wakes the requests that wait for the end of a job, by its ID.
package typealias JobWatcher = StoreWatcher<String>

extension StoreWatcher<String> {
    /// - Parameter pause: returns after the time between two round trips.
    package convenience init(
        _ store: any JobStore,
        pause: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: WatcherLimits.jobInterval) }
    ) {
        self.init(maximumWaiting: WatcherLimits.waitingForJobs, pollsAtOnce: true, pause: pause) { interests in
            let ids = Array(Set(interests))
            guard let statuses = try? await store.statuses(of: ids) else { return nil }
            let ended = Set(zip(ids, statuses).filter { $1 != .waiting }.map(\.0))
            return { ended.contains($0) }
        }
    }

    /// Wakes the requests for a job that ended on this node.
    package func announce(_ id: String) { wake { $0 == id } }
}
