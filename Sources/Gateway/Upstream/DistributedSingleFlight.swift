// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// Decides which node of the fleet sends a request to Apple.
///
/// ```
/// acquire lease ──▶ new result in the cache? ──▶ held: send      taken: wait for a change, with a limit
///        ▲                   └──▶ use it                                 │
///        └─────────────────────────────────────────── after 1.5 s: send ◀┘
/// ```
struct DistributedSingleFlight: Sendable {
    enum LeaseDecision: Sendable {
        /// Send the request, and release the lease, if any.
        case send(FlightLease?)
        /// Use the result of another node.
        case found(CachedResult)
        /// Answer without Apple: the other node's request failed.
        case failed(DegradedReason)
    }

    enum Limits {
        /// The time after which this node sends a request as well.
        static let wait: Duration = .milliseconds(1500)
        /// The first wait for a change before another look-up; it doubles each time.
        static let firstPoll: Duration = .milliseconds(50)
        /// The longest wait between look-ups.
        static let longestPoll: Duration = .milliseconds(200)
    }

    let leases: any FlightLeases

    /// Waits for the decision.
    /// - Parameter newerResult: looks for a result that another node has stored since the caller's look-up.
    func decide(
        for key: CacheKey, _ newerResult: () async -> CachedResult?
    ) async -> (decision: LeaseDecision, outcome: LeaseOutcome) {
        let end = Instant.now + Limits.wait
        var holder: String?
        var poll = Limits.firstPoll
        while true {
            let attempt = await leases.acquire(key, awaiting: holder)
            // After the attempt, not before it: results are stored before their leases are released.
            if let found = await newerResult() {
                if case .held(let lease) = attempt { await leases.release(lease, after: nil) }
                return (.found(found), .found)
            }
            switch attempt {
            case .held(let lease): return (.send(lease), .held)
            case .failed(let reason): return (.failed(reason), .failed)
            case .unavailable: return (.send(nil), .unavailable)
            case .taken(let other): holder = other
            }
            let now = Instant.now
            guard now < end else { return (.send(nil), .overdue) }
            await leases.waitForChange(of: key, upTo: min(poll, now.duration(to: end)))
            poll = min(poll * 2, Limits.longestPoll)
        }
    }
}

/// The effect of a lease on one request. The raw values appear in metrics.
package enum LeaseOutcome: String, CaseIterable, Hashable, Sendable {
    /// This node sent the request for the fleet.
    case held
    case found
    case failed
    /// Another node took too long; this node sent the request as well.
    case overdue
    /// The shared store was unavailable; this node sent the request.
    case unavailable
}

/// The right to send a request about one receipt to Apple while the other nodes wait for the result.
///
/// An optimisation and not a lock: it expires after a few seconds, and a node that cannot read it sends the request.
package struct FlightLease: Hashable, Sendable {
    package let key: CacheKey
    package let token: String

    package init(_ key: CacheKey, token: String) {
        self.key = key
        self.token = token
    }
}

package enum FlightLeaseAttempt: Sendable {
    /// The caller holds the lease: it sends the request and releases the lease.
    case held(FlightLease)
    /// The holder with this token is sending the request.
    case taken(by: String)
    /// The awaited holder's request got no answer from Apple.
    case failed(DegradedReason)
    case unavailable
}

package protocol FlightLeases: Sendable {
    /// Tries to acquire the lease for a request.
    /// - Parameter holder: the holder that the caller has waited for; only that holder's failure is reported.
    func acquire(_ key: CacheKey, awaiting holder: String?) async -> FlightLeaseAttempt

    /// Releases a lease, after the result is in the cache.
    /// - Parameter failure: the reason why Apple gave no answer, for the nodes that wait; nil if there is none.
    func release(_ lease: FlightLease, after failure: DegradedReason?) async

    /// Returns when the lease may have changed hands, at the latest after `span`.
    func waitForChange(of key: CacheKey, upTo span: Duration) async
}

/// The leases of a fleet of one node: always granted, because `SingleFlight` coalesces requests within a node.
package struct EmbeddedFlightLeases: FlightLeases {
    package init() {}

    package func acquire(_ key: CacheKey, awaiting holder: String?) -> FlightLeaseAttempt {
        .held(FlightLease(key, token: ""))
    }

    package func release(_ lease: FlightLease, after failure: DegradedReason?) {}

    package func waitForChange(of key: CacheKey, upTo span: Duration) {}
}
