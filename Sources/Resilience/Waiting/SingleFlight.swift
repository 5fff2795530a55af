// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Coalesces concurrent requests for the same value into one task.
///
/// The work runs in a task of its own. So a waiter that is cancelled or times out does not cancel it for other waiters.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let flights = Mutex<[Key: [Waiter<Value>]]>([:])
    private let timeouts = Timeouts()

    package init() {}

    package var count: Int { flights.withLock { $0.count } }

    /// Starts the work for `key` without a waiter, unless it is in flight.
    package func start(_ key: Key, _ work: @escaping @Sendable () async -> Value) {
        if join(key, []) { run(key, work) }
    }

    /// Waits for the work for `key`, and starts it unless it is in flight.
    package func value(
        for key: Key, waitLimit: Duration, _ work: @escaping @Sendable () async -> Value
    ) async -> FlightResult<Value> {
        let waiter = Waiter<Value>()
        let isFirst = join(key, [waiter])
        if isFirst { run(key, work) }
        return FlightResult(value: await waiter.value(waitLimit: waitLimit, timeouts), isFirst: isFirst)
    }

    /// - Returns: true if the work is not in flight yet.
    private func join(_ key: Key, _ waiters: [Waiter<Value>]) -> Bool {
        flights.withLock { flights in
            defer { flights[key, default: []] += waiters }
            return flights[key] == nil
        }
    }

    private func run(_ key: Key, _ work: @escaping @Sendable () async -> Value) {
        // Not detached: the log metadata of the request that starts the work is inherited.
        Task {
            let value = await work()
            let waiters = self.flights.withLock { $0.removeValue(forKey: key) } ?? []
            for waiter in waiters { waiter.end(with: value) }
        }
    }
}

package struct FlightResult<Value: Sendable>: Sendable {
    /// The value; nil if the wait timed out or was cancelled.
    package let value: Value?
    /// True if this waiter's request started the work.
    package let isFirst: Bool
}
