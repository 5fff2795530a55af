// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Rings for those whose time is over, from one task for all of them.
///
/// A task for each would outlive its wait: a sleep that is cancelled keeps its memory until its time has come, and the
/// thousands of a busy second would keep it for ten. To look at all who wait, twenty times a second, costs less than
/// to keep them in order.
package final class Timeouts: Sendable {
    /// Names one alarm.
    package typealias ID = Int

    /// How late an alarm may ring.
    static let tick: Duration = .milliseconds(50)

    private let state = Mutex(TimeoutList())

    /// No alarm.
    package init() {}

    /// How many are to ring yet.
    var count: Int { state.withLock { $0.count } }

    /// Calls `ring` at `time`, or a little later, unless it is removed.
    func set(for time: ContinuousClock.Instant, _ ring: @escaping @Sendable () -> Void) -> ID {
        let (id, isFirst) = state.withLock { list in
            let isFirst = list.startsTicking()
            return (list.add(time, ring), isFirst)
        }
        if isFirst { Task.detached { await self.tickWhileNeeded() } }
        return id
    }

    /// Forgets an alarm; one that has rung is forgotten anyhow.
    func remove(_ id: ID) {
        state.withLock { $0.remove(id) }
    }

    private func tickWhileNeeded() async {
        while state.withLock({ $0.keepsTicking() }) {
            try? await Task.sleep(for: Self.tick)
            for ring in state.withLock({ $0.takeDue(at: .now) }) { ring() }
        }
    }
}

/// Who wants to be rung for, and when.
struct TimeoutList: Sendable {
    private struct Alarm: Sendable {
        let time: ContinuousClock.Instant
        let ring: @Sendable () -> Void
    }

    private var timeouts: [Timeouts.ID: Alarm] = [:]
    private var lastID = 0
    private var isTicking = false

    var count: Int { timeouts.count }

    /// - Returns: whether nobody has looked at the clock so far, and the caller must see to it.
    mutating func startsTicking() -> Bool {
        defer { isTicking = true }
        return !isTicking
    }

    /// - Returns: false where nobody waits any more: then nobody looks at the clock from here on.
    mutating func keepsTicking() -> Bool {
        isTicking = !timeouts.isEmpty
        return isTicking
    }

    mutating func add(_ time: ContinuousClock.Instant, _ ring: @escaping @Sendable () -> Void) -> Timeouts.ID {
        lastID += 1
        timeouts[lastID] = Alarm(time: time, ring: ring)
        return lastID
    }

    mutating func remove(_ id: Timeouts.ID) {
        timeouts[id] = nil
    }

    /// Takes out those whose time has come.
    mutating func takeDue(at now: ContinuousClock.Instant) -> [@Sendable () -> Void] {
        let due = timeouts.filter { $1.time <= now }
        for id in due.keys { timeouts[id] = nil }
        return due.values.map(\.ring)
    }
}
