// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A value that arrives later. The first one counts; each waiting task is resumed exactly once.
final class Promise<Value: Sendable>: Sendable {
    private enum State {
        case open([CheckedContinuation<Value, Never>])
        case kept(Value)
    }

    private let state = Mutex(State.open([]))

    var isKept: Bool {
        state.withLock { state in if case .kept = state { true } else { false } }
    }

    /// Sets the value, unless it is set.
    func keep(_ value: Value) {
        let waiting: [CheckedContinuation<Value, Never>] = state.withLock { state in
            guard case .open(let waiting) = state else { return [] }
            state = .kept(value)
            return waiting
        }
        for continuation in waiting { continuation.resume(returning: value) }
    }

    /// The value, once it is set. Cancellation does not end the wait.
    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                if let value = valueOrWait(continuation) { continuation.resume(returning: value) }
            }
        }
    }

    private func valueOrWait(_ continuation: CheckedContinuation<Value, Never>) -> Value? {
        state.withLock { state in
            switch state {
            case .kept(let value): return value
            case .open(let waiting):
                state = .open(waiting + [continuation])
                return nil
            }
        }
    }
}
