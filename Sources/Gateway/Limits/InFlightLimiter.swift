// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Gives places to requests in flight: a tenant has no more of them at one time, over all nodes, than it may.
public protocol InFlightLimiter: Sendable {
    /// Takes a place for one more request; false if all are taken. Who gets one must `leave` it.
    func enter(_ limit: InFlightLimit) async -> Bool
    /// Gives a place back.
    func leave(_ limit: InFlightLimit)
}

/// How many requests of whom may be in flight.
public struct InFlightLimit: Hashable, Sendable {
    /// The client they belong to.
    public var tenant: String
    /// The most at one time, over all nodes.
    public var maximum: Int

    /// A limit.
    public init(tenant: String, maximum: Int) {
        self.tenant = tenant
        self.maximum = maximum
    }
}

/// The places of one node that is alone.
public final class EmbeddedInFlightLimiter: InFlightLimiter {
    /// By tenant; those that have none in flight are not in it.
    private let inFlight = Mutex<[String: Int]>([:])

    /// Nobody is in flight.
    public init() {}

    /// Takes a place if one is free on this node.
    public func enter(_ limit: InFlightLimit) async -> Bool {
        inFlight.withLock { inFlight in
            let count = inFlight[limit.tenant, default: 0]
            guard count < limit.maximum else { return false }
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
