// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Gives places to requests in flight.
public protocol InFlightLimiter: Sendable {
    /// Takes a place for one more request; false if all are taken. Who gets one must `leave` it.
    func enter(_ limit: InFlightLimit) -> Bool
    /// Gives a place back.
    func leave(_ limit: InFlightLimit)
}

/// How many requests of whom may be in flight.
public struct InFlightLimit: Hashable, Sendable {
    /// The client they belong to.
    public var tenant: String
    /// The most at one time, all nodes together.
    public var maximum: Int

    /// A limit.
    public init(tenant: String, maximum: Int) {
        self.tenant = tenant
        self.maximum = maximum
    }
}

/// Gives the places that are this node's share: an n-th of them, where n nodes are alive, and always one.
///
/// So the fleet keeps the limit without asking anybody, with whatever is shared or not; but for a moment, when a node
/// joins while others still have more than their new share in flight, and where there are more nodes than places. The
/// price is that a client which reaches few of the nodes gets few of its places.
public final class EmbeddedInFlightLimiter: InFlightLimiter {
    /// By tenant; those that have none in flight are not in it.
    private let inFlight = Mutex<[String: Int]>([:])
    private let liveNodes: @Sendable () -> Int

    /// Nobody is in flight.
    /// - Parameter liveNodes: how many nodes share the places, this one included.
    public init(liveNodes: @escaping @Sendable () -> Int = { 1 }) {
        self.liveNodes = liveNodes
    }

    /// Takes a place if one of this node's is free.
    public func enter(_ limit: InFlightLimit) -> Bool {
        let share = max(1, limit.maximum / max(1, liveNodes()))
        return inFlight.withLock { inFlight in
            let count = inFlight[limit.tenant, default: 0]
            guard count < share else { return false }
            inFlight[limit.tenant] = count + 1
            return true
        }
    }

    /// Gives a place back.
    public func leave(_ limit: InFlightLimit) {
        inFlight.withLock { inFlight in
            let count = inFlight[limit.tenant, default: 0]
            inFlight[limit.tenant] = count > 1 ? count - 1 : nil
        }
    }
}
