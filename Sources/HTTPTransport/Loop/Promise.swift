// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A value that arrives later. The first one counts; each waiting task is resumed exactly once.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiting: [CheckedContinuation<Value, Never>] = []
    }

    private let state = Mutex(State())

    var isFulfilled: Bool { state.withLock { $0.value != nil } }

    /// Sets the value, unless it is set.
    func fulfil(_ value: Value) {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.value = state.value ?? value
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: value) }
    }

    /// The value, once it is set. Cancellation does not end the wait.
    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let value = state.withLock { state in
                    if state.value == nil { state.waiting.append(continuation) }
                    return state.value
                }
                if let value { continuation.resume(returning: value) }
            }
        }
    }
}
