// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import Resilience

/// Wakes the requests that wait for the end of a job. One loop for all of them reads the statuses of their jobs, in one
/// round trip, as long as any request waits.
package final class JobWatcher: Sendable {
    package enum Limits {
        /// The time between two round trips: the delay of a job that ended on another node.
        static let interval: Duration = .milliseconds(500)
        /// The requests that wait at most. Others are answered at once.
        package static let waiting = 4096
    }

    private struct Watch: Sendable {
        let id: String
        let waiter: Waiter<Bool>
    }

    private struct State {
        var watches: [Int: Watch] = [:]
        var lastWatch = 0
        var isPolling = false
        var isStopped = false

        /// - Returns: false if no request waits, so that the loop must end.
        mutating func keepsPolling() -> Bool {
            isPolling = !watches.isEmpty
            return isPolling
        }
    }

    private let store: any JobStore
    private let pause: @Sendable () async -> Void
    private let timeouts = Timeouts()
    private let state = Mutex(State())

    package convenience init(_ store: any JobStore) {
        self.init(store) { try? await Task.sleep(for: Limits.interval) }
    }

    /// - Parameter pause: returns after the time between two round trips.
    init(_ store: any JobStore, pause: @escaping @Sendable () async -> Void) {
        (self.store, self.pause) = (store, pause)
    }

    /// The number of requests that wait.
    var count: Int { state.withLock { $0.watches.count } }

    /// Waits until a job has ended, or is gone.
    /// - Returns: false if the time has passed, the request was cancelled, the node stops, or too many requests wait.
    package func wait(for id: String, upTo limit: Duration) async -> Bool {
        let waiter = Waiter<Bool>()
        guard let watch = add(Watch(id: id, waiter: waiter)) else { return false }
        defer { state.withLock { _ = $0.watches.removeValue(forKey: watch) } }
        return await waiter.value(waitLimit: limit, timeouts) ?? false
    }

    /// Wakes the requests for a job that ended on this node.
    package func announce(_ id: String) { wake(with: true) { $0 == id } }

    /// Wakes all requests, for the last time.
    package func stop() {
        state.withLock { $0.isStopped = true }
        wake(with: false) { _ in true }
    }

    private func add(_ watch: Watch) -> Int? {
        let (number, isFirst) = state.withLock { state -> (Int?, Bool) in
            guard !state.isStopped, state.watches.count < Limits.waiting else { return (nil, false) }
            defer { state.isPolling = true }
            state.lastWatch += 1
            state.watches[state.lastWatch] = watch
            return (state.lastWatch, !state.isPolling)
        }
        // Detached: the loop is none of the first request's.
        if isFirst { Task.detached { await self.pollWhileWatched() } }
        return number
    }

    private func wake(with hasEnded: Bool, _ isMeant: (_ id: String) -> Bool) {
        let watches = state.withLock { Array($0.watches.values) }
        for watch in watches where isMeant(watch.id) { watch.waiter.end(with: hasEnded) }
    }

    private func pollWhileWatched() async {
        while state.withLock({ $0.keepsPolling() }) {
            // First, because a job may have ended before its first request waited.
            await poll()
            await pause()
        }
    }

    private func poll() async {
        let ids = Array(Set(state.withLock { $0.watches.values.map(\.id) }))
        // Without the store requests wait on, until their time has passed.
        guard !ids.isEmpty, let statuses = try? await store.statuses(of: ids) else { return }
        let ended = Set(zip(ids, statuses).filter { $1 != .waiting }.map(\.0))
        wake(with: true) { ended.contains($0) }
    }
}
