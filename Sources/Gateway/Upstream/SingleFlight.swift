// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Lets one task work out a value that many wait for.
///
/// The work belongs to nobody who waits: it runs in a task of its own, so that a waiter that leaves, or loses patience,
/// cancels nobody else's.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let flights = Mutex<[Key: [Waiter<Value>]]>([:])
    private let timeouts = Timeouts()

    /// How many values are being worked out.
    var count: Int { flights.withLock { $0.count } }

    /// Starts the work for `key`, for nobody in particular, unless it is under way.
    func start(_ key: Key, _ work: @escaping @Sendable () async -> Value) {
        if enter(key, []) { fly(key, work) }
    }

    /// Waits for the work for `key`, which is started unless it is under way.
    func value(
        for key: Key, waitLimit: Duration, _ work: @escaping @Sendable () async -> Value
    ) async -> FlightResult<Value> {
        let waiter = Waiter<Value>()
        let isFirst = enter(key, [waiter])
        if isFirst { fly(key, work) }
        return FlightResult(value: await waiter.value(waitLimit: waitLimit, timeouts), isFirst: isFirst)
    }

    /// - Returns: whether nobody works on the value yet.
    private func enter(_ key: Key, _ waiters: [Waiter<Value>]) -> Bool {
        flights.withLock { flights in
            defer { flights[key, default: []] += waiters }
            return flights[key] == nil
        }
    }

    private func fly(_ key: Key, _ work: @escaping @Sendable () async -> Value) {
        // Not detached: what the log lines of the work are to say comes along with who starts it.
        Task {
            let value = await work()
            let waiters = self.flights.withLock { $0.removeValue(forKey: key) } ?? []
            for waiter in waiters { waiter.end(with: value) }
        }
    }
}

/// What came of waiting.
struct FlightResult<Value: Sendable>: Sendable {
    /// The value; nil if the waiter's patience ended first, or the waiter was cancelled.
    let value: Value?
    /// Whether this waiter's request started the work.
    let isFirst: Bool
}
