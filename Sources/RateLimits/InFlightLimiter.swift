// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits the requests in flight.
public protocol InFlightLimiter: Sendable {
    /// Acquires a slot for one more request; false if all are taken. Each one that is acquired must be released once.
    func acquire(_ limit: InFlightLimit) -> Bool
    /// Releases a slot.
    func release(_ limit: InFlightLimit)
}

/// The limit of a client's requests in flight.
public struct InFlightLimit: Hashable, Sendable {
    /// The client they belong to.
    public var tenant: String
    /// The most at one time, all nodes together.
    public var maximum: Int

    /// Creates a limit.
    public init(tenant: String, maximum: Int) {
        self.tenant = tenant
        self.maximum = maximum
    }
}

/// Gives the slots that are this node's share: an n-th of them, where n nodes are alive, and always one.
///
/// So the fleet keeps the limit without asking anybody, with whatever is shared or not; but for a moment, when a node
/// joins while others still have more than their new share in flight, and where there are more nodes than slots. The
/// price is that a client which reaches few of the nodes gets few of its slots.
public final class EmbeddedInFlightLimiter: InFlightLimiter {
    /// By tenant; those that have none in flight are not in it.
    private let inFlight = Mutex<[String: Int]>([:])
    private let liveNodes: @Sendable () -> Int

    /// Creates a limiter without requests in flight.
    /// - Parameter liveNodes: returns the number of nodes that share the slots, this one included.
    public init(liveNodes: @escaping @Sendable () -> Int = { 1 }) {
        self.liveNodes = liveNodes
    }

    /// Acquires a slot if one of this node's is free.
    public func acquire(_ limit: InFlightLimit) -> Bool {
        let share = max(1, limit.maximum / max(1, liveNodes()))
        return inFlight.withLock { inFlight in
            let count = inFlight[limit.tenant, default: 0]
            guard count < share else { return false }
            inFlight[limit.tenant] = count + 1
            return true
        }
    }

    /// Releases a slot.
    public func release(_ limit: InFlightLimit) {
        inFlight.withLock { inFlight in
            let count = inFlight[limit.tenant, default: 0]
            inFlight[limit.tenant] = count > 1 ? count - 1 : nil
        }
    }
}
