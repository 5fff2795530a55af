// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

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
