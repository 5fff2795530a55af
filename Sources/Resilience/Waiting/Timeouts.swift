// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Runs callbacks when their time has come, from one task for all of them.
///
/// A task for each would outlive its wait: a cancelled sleep keeps its memory until its end, which is ten seconds for
/// thousands of requests a second. Scanning all entries when the earliest is due costs less than keeping them in order:
/// nearly all are removed long before their time.
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

struct TimeoutList: Sendable {
    private struct Timeout: Sendable {
        let time: ContinuousClock.Instant
        let fire: @Sendable () -> Void
    }

    private var timeouts: [Timeouts.ID: Timeout] = [:]
    /// No timeout is due earlier.
    private var earliest: ContinuousClock.Instant?
    private var lastID = 0
    private var isTicking = false

    var count: Int { timeouts.count }

    /// - Returns: true if no task checks the time yet, so that the caller must start a task.
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
        earliest = min(earliest ?? time, time)
        return lastID
    }

    mutating func remove(_ id: Timeouts.ID) {
        timeouts[id] = nil
    }

    mutating func takeDue(at now: ContinuousClock.Instant) -> [@Sendable () -> Void] {
        guard let earliest, earliest <= now else { return [] }
        let due = timeouts.filter { $1.time <= now }
        for id in due.keys { timeouts[id] = nil }
        self.earliest = timeouts.values.lazy.map(\.time).min()
        return due.values.map(\.fire)
    }
}

/// One waiter for a value. The wait ends with the value, a timeout or cancellation, whichever is first.
package final class Waiter<Value: Sendable>: Sendable {
    private enum State: Sendable {
        case idle
        case waiting(CheckedContinuation<Value?, Never>)
        case ended(Value?)
    }

    private let state = Mutex(State.idle)

    package init() {}

    /// Waits for the value. May be called once.
    /// - Returns: the value; nil after a timeout or cancellation.
    package func value(waitLimit: Duration, _ timeouts: Timeouts) async -> Value? {
        let timeout = timeouts.set(for: .now + waitLimit) { self.end(with: nil) }
        defer { timeouts.remove(timeout) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { wait($0) }
        } onCancel: {
            end(with: nil)
        }
    }

    private func wait(_ continuation: CheckedContinuation<Value?, Never>) {
        let ended: Value?? = state.withLock { state in
            if case .ended(let value) = state { return .some(value) }
            state = .waiting(continuation)
            return .none
        }
        if let ended { continuation.resume(returning: ended) }
    }

    /// Ends the wait.
    /// - Returns: false if it had ended before, so that the value is not delivered.
    @discardableResult
    package func end(with value: Value?) -> Bool {
        let previous = state.withLock { state in
            let previous = state
            if case .ended = previous {} else { state = .ended(value) }
            return previous
        }
        switch previous {
        case .ended: return false
        case .idle: return true
        case .waiting(let continuation):
            continuation.resume(returning: value)
            return true
        }
    }
}
