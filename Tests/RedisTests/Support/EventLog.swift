// SPDX-License-Identifier: Apache-2.0

import Redis
import Synchronization
import Testing
import TestSupport

/// Records events, and lets a test wait for them.
final class EventLog: RedisObserver {
    private let recorded = Mutex<[RedisEvent]>([])

    func observe(_ event: RedisEvent) { recorded.withLock { $0.append(event) } }

    /// All events so far, in order.
    var events: [RedisEvent] { recorded.withLock { $0 } }

    /// Returns the number of connections that became ready so far.
    func connections(_ role: RedisConnectionRole) -> Int { events.count { $0 == .connected(role) } }

    /// Returns when the events match.
    func wait(
        sourceLocation: SourceLocation = #_sourceLocation, until matches: ([RedisEvent]) -> Bool
    ) async throws {
        try await eventually("the events come", sourceLocation: sourceLocation) { matches(events) }
    }

    /// Returns when this event has occurred `count` times since the beginning.
    func wait(for event: RedisEvent, count: Int = 1, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await wait(sourceLocation: sourceLocation) { events in events.count { $0 == event } >= count }
    }
}
