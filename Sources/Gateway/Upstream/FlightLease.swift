// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The right to send a request about one receipt to Apple while the other nodes wait for the result.
///
/// An optimisation and not a lock: it expires after a few seconds, and a node that cannot read it sends the request.
public struct FlightLease: Hashable, Sendable {
    /// The request.
    public let key: CacheKey
    /// The ID of its holder.
    public let token: String

    /// Creates a lease.
    public init(_ key: CacheKey, token: String) {
        self.key = key
        self.token = token
    }
}

/// The outcome of acquiring a lease.
public enum FlightLeaseAttempt: Sendable {
    /// The caller holds the lease: it sends the request and releases the lease.
    case held(FlightLease)
    /// The holder with this token is sending the request.
    case taken(by: String)
    /// The awaited holder's request got no answer from Apple.
    case failed(DegradedReason)
    /// The shared store is unavailable.
    case unavailable
}

/// The leases of a fleet.
public protocol FlightLeases: Sendable {
    /// Tries to acquire the lease for a request.
    /// - Parameter holder: the holder that the caller has waited for; only the failure of that one is reported.
    func acquire(_ key: CacheKey, awaiting holder: String?) async -> FlightLeaseAttempt

    /// Releases a lease, after the result is in the cache.
    /// - Parameter failure: the reason why Apple gave no answer, for the nodes that wait; nil if there is none.
    func release(_ lease: FlightLease, telling failure: DegradedReason?) async

    /// Returns when the lease may have changed hands, at the latest after `span`.
    func waitForChange(of key: CacheKey, upTo span: Duration) async
}

/// The leases of a fleet of one node: always granted, because `SingleFlight` coalesces requests within a node.
public struct EmbeddedFlightLeases: FlightLeases {
    /// Creates the leases of one node.
    public init() {}

    /// Grants the lease.
    public func acquire(_ key: CacheKey, awaiting holder: String?) -> FlightLeaseAttempt {
        .held(FlightLease(key, token: ""))
    }

    /// Does nothing: no other node waits.
    public func release(_ lease: FlightLease, telling failure: DegradedReason?) {}

    /// Returns at once: there is no other holder.
    public func waitForChange(of key: CacheKey, upTo span: Duration) {}
}
