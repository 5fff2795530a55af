// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Runs callbacks when their time has come, from one task for all of them.
///
/// A task for each would outlive its wait: a cancelled sleep keeps its memory until its end, which is ten seconds for
/// thousands of requests a second. Scanning all entries twenty times a second costs less than keeping them in order.
package final class Timeouts: Sendable {
    package typealias ID = Int

    /// The maximum delay of a callback.
    static let tick: Duration = .milliseconds(50)

    private let state = Mutex(TimeoutList())

    package init() {}

    var count: Int { state.withLock { $0.count } }

    /// Calls `fire` at `time`, or up to one tick later, unless it is removed.
    func set(for time: ContinuousClock.Instant, _ fire: @escaping @Sendable () -> Void) -> ID {
        let (id, isFirst) = state.withLock { list in
            let isFirst = list.startsTicking()
            return (list.add(time, fire), isFirst)
        }
        if isFirst { Task.detached { await self.tickWhileNeeded() } }
        return id
    }

    func remove(_ id: ID) {
        state.withLock { $0.remove(id) }
    }

    private func tickWhileNeeded() async {
        while state.withLock({ $0.keepsTicking() }) {
            try? await Task.sleep(for: Self.tick)
            for fire in state.withLock({ $0.takeDue(at: .now) }) { fire() }
        }
    }
}

/// The pending timeouts.
struct TimeoutList: Sendable {
    private struct Timeout: Sendable {
        let time: ContinuousClock.Instant
        let fire: @Sendable () -> Void
    }

    private var timeouts: [Timeouts.ID: Timeout] = [:]
    private var lastID = 0
    private var isTicking = false

    var count: Int { timeouts.count }

    /// - Returns: true if no task checks the time yet, so that the caller must start one.
    mutating func startsTicking() -> Bool {
        defer { isTicking = true }
        return !isTicking
    }

    /// - Returns: false if no timeout is left, so that the task must end.
    mutating func keepsTicking() -> Bool {
        isTicking = !timeouts.isEmpty
        return isTicking
    }

    mutating func add(_ time: ContinuousClock.Instant, _ fire: @escaping @Sendable () -> Void) -> Timeouts.ID {
        lastID += 1
        timeouts[lastID] = Timeout(time: time, fire: fire)
        return lastID
    }

    mutating func remove(_ id: Timeouts.ID) {
        timeouts[id] = nil
    }

    mutating func takeDue(at now: ContinuousClock.Instant) -> [@Sendable () -> Void] {
        let due = timeouts.filter { $1.time <= now }
        for id in due.keys { timeouts[id] = nil }
        return due.values.map(\.fire)
    }
}
