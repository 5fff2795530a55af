// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

package protocol InFlightLimiter: Sendable {
    /// Acquires a slot for one more request; false if all are taken. Release each acquired slot once.
    func acquire(_ limit: InFlightLimit) -> Bool
    func release(_ limit: InFlightLimit)
}

package struct InFlightLimit: Hashable, Sendable {
    package var client: String
    /// The maximum at one time, on all nodes together.
    package var maximum: Int

    package init(client: String, maximum: Int) {
        self.client = client
        self.maximum = maximum
    }
}

/// Grants this node's share of the slots: an n-th of the slots, where n nodes are alive, and always at least one slot.
///
/// So the fleet keeps the limit without communication, even without shared state. Exceptions: for a moment when a node
/// joins while other nodes have more than their new share in flight, and while there are more nodes than slots. The
/// price: a client that reaches few of the nodes gets few of its slots.
package final class EmbeddedInFlightLimiter: InFlightLimiter {
    /// By client; without clients that have none in flight.
    private let inFlight = Mutex<[String: Int]>([:])
    private let liveNodes: @Sendable () -> Int

    /// - Parameter liveNodes: returns the number of nodes that share the slots, this node included.
    package init(liveNodes: @escaping @Sendable () -> Int = { 1 }) {
        self.liveNodes = liveNodes
    }

    package func acquire(_ limit: InFlightLimit) -> Bool {
        let share = max(1, limit.maximum / max(1, liveNodes()))
        return inFlight.withLock { inFlight in
            let count = inFlight[limit.client, default: 0]
            guard count < share else { return false }
            inFlight[limit.client] = count + 1
            return true
        }
    }

    package func release(_ limit: InFlightLimit) {
        inFlight.withLock { inFlight in
            let count = inFlight[limit.client, default: 0]
            inFlight[limit.client] = count > 1 ? count - 1 : nil
        }
    }
}
