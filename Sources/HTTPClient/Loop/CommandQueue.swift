// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

enum LoopCommand: Sendable {
    case start(PendingRequest)
    /// Cancel a request, which may have ended or not have begun.
    case abandon(PendingRequest.ID)
    case finish
}

struct PendingRequest: Sendable {
    /// The number of a request in its transport; never 0.
    typealias ID = UInt

    let id: ID
    let request: CheckedRequest
    let deadline: ContinuousClock.Instant
    let slot: RequestSlot
    let outcome: Promise<Result<TransportResponse, TransportError>>
}

/// Queues commands to the loop, from any thread: at most two commands for each slot, and the command to finish.
final class CommandQueue: Sendable {
    private struct State {
        var commands: [LoopCommand] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let wakeUp: @Sendable () -> Void

    /// - Parameter wakeUp: wakes the loop; called without a lock held.
    init(wakeUp: @escaping @Sendable () -> Void) { self.wakeUp = wakeUp }

    func start(_ pending: PendingRequest) -> Bool {
        post(.start(pending)) { !$0.isClosed }
    }

    func abandon(_ id: PendingRequest.ID) { _ = post(.abandon(id)) { _ in true } }

    /// Rejects further requests, and ends the loop after the requests in flight.
    func close() {
        _ = post(.finish) { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
    }

    func takeAll() -> [LoopCommand] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    private func post(_ command: LoopCommand, if isAllowed: (inout State) -> Bool) -> Bool {
        let (isPosted, isFirst) = state.withLock { state in
            guard isAllowed(&state) else { return (false, false) }
            state.commands.append(command)
            return (true, state.commands.count == 1)
        }
        // One call wakes the loop for all commands not yet taken.
        if isFirst { wakeUp() }
        return isPosted
    }
}

final class RequestSlots: Sendable {
    fileprivate let taken = Mutex(0)
    private let maximum: Int

    init(maximum: Int) { self.maximum = maximum }

    var takenCount: Int { taken.withLock(\.self) }

    func take() -> RequestSlot? {
        let isFree = taken.withLock { taken in
            guard taken < maximum else { return false }
            taken += 1
            return true
        }
        return isFree ? RequestSlot(of: self) : nil
    }
}

/// The slot of one request. It lives as long as its libcurl handle, so that a leaked handle shows in the count.
final class RequestSlot: Sendable {
    private let slots: RequestSlots

    fileprivate init(of slots: RequestSlots) { self.slots = slots }

    deinit { slots.taken.withLock { $0 -= 1 } }
}

/// A value that arrives later. The first value counts; each waiting task is resumed exactly once.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiting: [CheckedContinuation<Value, Never>] = []
    }

    private let state = Mutex(State())

    var isFulfilled: Bool { state.withLock { $0.value != nil } }

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
