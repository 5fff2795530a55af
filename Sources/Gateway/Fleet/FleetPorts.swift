// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import RateLimits

/// The ports to the state that all nodes share: all in Redis, or all in this process.
public struct FleetPorts: Sendable {
    /// The results of requests to Apple.
    public var cache: any UpstreamCache
    /// The token buckets of clients, and the budget for requests to Apple.
    public var limiter: any RateLimiter
    /// Decides which node sends a request to Apple.
    public var leases: any FlightLeases
    /// Publishes Apple's pauses and announcements to the other nodes.
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
