// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What the loop is asked to do.
enum Order: Sendable {
    case start(Assignment)
    /// Nobody waits for this one any more. It may be over already, or not have begun.
    case abandon(Assignment.ID)
    /// Finish what is in flight, then end.
    case finish
}

/// A request that was admitted.
struct Assignment: Sendable {
    /// The number of a request within its transport; never 0.
    typealias ID = UInt

    let id: ID
    let request: CheckedRequest
    let deadline: ContinuousClock.Instant
    let slot: RequestSlot
    let outcome: Promise<Result<TransportResponse, TransportError>>
}

/// Orders on their way to the loop, from any thread. There are never more than two for each slot, and one.
final class Mailbox: Sendable {
    private struct State {
        var orders: [Order] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let wakeUp: @Sendable () -> Void

    /// - Parameter wakeUp: makes the loop look; called without a lock held.
    init(wakeUp: @escaping @Sendable () -> Void) {
        self.wakeUp = wakeUp
    }

    /// Asks for a request to be sent; false after `close()`.
    func start(_ assignment: Assignment) -> Bool {
        post(.start(assignment)) { !$0.isClosed }
    }

    /// Asks for a request to be ended.
    func abandon(_ id: Assignment.ID) {
        _ = post(.abandon(id)) { _ in true }
    }

    /// Takes no more requests, and asks the loop to end when those in flight are over.
    func close() {
        _ = post(.finish) { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
    }

    /// Takes all orders out, in their order.
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
        // One call wakes the loop for all orders it has not taken yet.
        if isFirst { wakeUp() }
        return isPosted
    }
}
