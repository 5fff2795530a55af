// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import RateLimits

/// The ports to what the nodes of a fleet share: all of them in Redis, or all of them in this process.
public struct FleetPorts: Sendable {
    /// Keeps what Apple said of receipts.
    public var cache: any UpstreamCache
    /// Holds the token buckets of clients, and the budget for requests to Apple.
    public var limiter: any RateLimiter
    /// Decides which node asks Apple.
    public var leases: any FlightLeases
    /// Publishes what Apple asks for to the other nodes.
    public var fleetState: any FleetState

    /// Creates the ports of one node.
    public init(
        cache: any UpstreamCache, limiter: any RateLimiter, leases: any FlightLeases, fleetState: any FleetState
    ) {
        self.cache = cache
        self.limiter = limiter
        self.leases = leases
        self.fleetState = fleetState
    }
}
