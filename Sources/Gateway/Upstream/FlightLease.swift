// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The right to ask Apple about one receipt while the other nodes of the fleet wait for the answer.
///
/// An optimisation and no lock: it ends by itself after a few seconds, and who cannot tell asks.
public struct FlightLease: Hashable, Sendable {
    /// What is asked.
    public let key: CacheKey
    /// Tells its holder from all others.
    public let token: String

    /// A lease.
    public init(_ key: CacheKey, token: String) {
        self.key = key
        self.token = token
    }
}

/// What came of trying to take a lease.
public enum FlightLeaseAttempt: Sendable {
    /// It is the caller's, who asks and releases it.
    case held(FlightLease)
    /// The holder with this token is asking.
    case taken(by: String)
    /// The holder that was waited for has asked, and Apple gave no answer.
    case failed(DegradedReason)
    /// Nobody can tell.
    case unavailable
}

/// The leases of a fleet.
public protocol FlightLeases: Sendable {
    /// Tries to take the lease for a question.
    /// - Parameter holder: whom the caller has waited for: it is told that one's failure, and nobody else's.
    func acquire(_ key: CacheKey, awaiting holder: String?) async -> FlightLeaseAttempt

    /// Gives a lease back, once what was found out is in the finding cache.
    /// - Parameter failure: why Apple gave no answer, for those who waited for it; nil if there is nothing to tell.
    func release(_ lease: FlightLease, telling failure: DegradedReason?) async

    /// Returns when the lease may have changed hands, and after `span` at the latest.
    func waitForChange(of key: CacheKey, upTo span: Duration) async
}

/// A fleet of one node: whoever asks for a lease gets it, for within a node `SingleFlight` has sorted out who asks.
public struct EmbeddedFlightLeases: FlightLeases {
    /// The leases of one node.
    public init() {}

    /// Held, always.
    public func acquire(_ key: CacheKey, awaiting holder: String?) -> FlightLeaseAttempt {
        .held(FlightLease(key, token: ""))
    }

    /// Nobody waits.
    public func release(_ lease: FlightLease, telling failure: DegradedReason?) {}

    /// There is no other holder.
    public func waitForChange(of key: CacheKey, upTo span: Duration) {}
}
