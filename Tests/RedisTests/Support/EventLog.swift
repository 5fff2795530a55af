// SPDX-License-Identifier: Apache-2.0

import Redis
import Synchronization

/// Records events, and lets a test wait for them.
final class EventLog: RedisObserver {
    private struct State {
        var events: [RedisEvent] = []
        var waiters: [Waiter] = []
    }
    private struct Waiter {
        let matches: @Sendable ([RedisEvent]) -> Bool
        let wake: AsyncStream<Void>.Continuation
    }

    private let state = Mutex(State())

    func observe(_ event: RedisEvent) {
        let woken = state.withLock { state in
            state.events.append(event)
            let woken = state.waiters.filter { $0.matches(state.events) }
            state.waiters.removeAll { $0.matches(state.events) }
            return woken
        }
        for waiter in woken { waiter.wake.finish() }
    }

    /// All events so far, in order.
    var events: [RedisEvent] { state.withLock { $0.events } }

    /// Returns the number of connections that became ready so far.
    func connections(_ role: RedisConnectionRole) -> Int { events.count { $0 == .connected(role) } }

    /// Returns when the events match. The test's time limit ends a wait in vain.
    func wait(until matches: @escaping @Sendable ([RedisEvent]) -> Bool) async {
        // A stream, because its end is awaited until the task is cancelled, too.
        let (end, wake) = AsyncStream.makeStream(of: Void.self)
        let isEnough = state.withLock { state in
            if matches(state.events) { return true }
            state.waiters.append(Waiter(matches: matches, wake: wake))
            return false
        }
        if isEnough { return }
        for await _ in end {}
    }

    /// Returns when this event has occurred `count` times since the beginning.
    func wait(for event: RedisEvent, count: Int = 1) async {
        await wait { events in events.count { $0 == event } >= count }
    }
}
