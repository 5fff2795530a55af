// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A command to the loop.
enum Order: Sendable {
    case start(Assignment)
    /// Cancel a request, which may have ended or not have begun.
    case abandon(Assignment.ID)
    /// Finish the requests in flight, then end.
    case finish
}

struct Assignment: Sendable {
    /// The number of a request in its transport; never 0.
    typealias ID = UInt

    let id: ID
    let request: CheckedRequest
    let deadline: ContinuousClock.Instant
    let slot: RequestSlot
    let outcome: Promise<Result<TransportResponse, TransportError>>
}

/// Queues commands to the loop, from any thread: at most two for each slot, and one.
final class Mailbox: Sendable {
    private struct State {
        var orders: [Order] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let wakeUp: @Sendable () -> Void

    /// - Parameter wakeUp: wakes the loop; called without a lock held.
    init(wakeUp: @escaping @Sendable () -> Void) {
        self.wakeUp = wakeUp
    }

    func start(_ assignment: Assignment) -> Bool {
        post(.start(assignment)) { !$0.isClosed }
    }

    func abandon(_ id: Assignment.ID) {
        _ = post(.abandon(id)) { _ in true }
    }

    /// Rejects further requests, and ends the loop after those in flight.
    func close() {
        _ = post(.finish) { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
    }

    func takeAll() -> [Order] {
        state.withLock { state in
            let orders = state.orders
            state.orders = []
            return orders
        }
    }

    private func post(_ order: Order, if isAllowed: (inout State) -> Bool) -> Bool {
        let (isPosted, isFirst) = state.withLock { state in
            guard isAllowed(&state) else { return (false, false) }
            state.orders.append(order)
            return (true, state.orders.count == 1)
        }
        // One call wakes the loop for all commands not yet taken.
        if isFirst { wakeUp() }
        return isPosted
    }
}
