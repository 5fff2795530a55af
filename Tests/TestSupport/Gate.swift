// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Blocks tasks until it is opened.
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Creates a closed gate.
    public init() {}

    /// The number of blocked tasks.
    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits until the gate is open.
    public func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    /// Blocks later tasks.
    public func close() { state.withLock { $0.isOpen = false } }

    /// Releases all blocked tasks, and blocks no later ones.
    public func open() {
        let waiting = state.withLock { state in
            defer { state = State(isOpen: true) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
