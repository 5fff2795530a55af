// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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
    /// The decision for the caller.
    enum LeaseDecision: Sendable {
        /// Send the request, and release the lease if there is one.
        case ask(FlightLease?, LeaseOutcome)
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
    func decide(for key: CacheKey, _ newerResult: () async -> CachedResult?) async -> LeaseDecision {
        let end = Instant.now + Limits.wait
        var holder: String?
        var poll = Limits.firstPoll
        while true {
            let attempt = await leases.acquire(key, awaiting: holder)
            // After the attempt, not before it: results are stored before their leases are released.
            if let found = await newerResult() {
                if case .held(let lease) = attempt { await leases.release(lease, telling: nil) }
                return .found(found)
            }
            switch attempt {
            case .held(let lease): return .ask(lease, .held)
            case .failed(let reason): return .failed(reason)
            case .unavailable: return .ask(nil, .unavailable)
            case .taken(let other): holder = other
            }
            let now = Instant.now
            guard now < end else { return .ask(nil, .overdue) }
            await leases.waitForChange(of: key, upTo: min(poll, now.duration(to: end)))
            poll = min(poll * 2, Limits.longestPoll)
        }
    }
}

/// The effect of a lease on one request. The raw values are those of metrics.
public enum LeaseOutcome: String, CaseIterable, Hashable, Sendable {
    /// This node sent the request for the fleet.
    case held
    /// Another node had the result.
    case found
    /// Another node's request failed.
    case failed
    /// Another node took too long; this one sent the request as well.
    case overdue
    /// The shared store was unavailable; this node sent the request.
    case unavailable
}

extension DistributedSingleFlight.LeaseDecision {
    var outcome: LeaseOutcome {
        switch self {
        case .ask(_, let outcome): outcome
        case .found: .found
        case .failed: .failed
        }
    }
}

extension DegradedReason {
    /// True if the reason is at Apple, so that other nodes would fail as well; false if it is local to this node.
    var concernsAllNodes: Bool {
        switch self {
        case .circuitOpen, .upstreamBudget, .upstreamSaturated, .upstreamSlow, .stopping, .upstreamUnreachable,
            .upstreamTLS, .sharedSecretRejected, .sharedStoreUnreachable:
            false
        case .upstreamPaused, .upstreamTimeout, .upstreamReset, .upstreamServerError, .upstreamUnusableAnswer,
            .upstreamUnavailable, .upstreamRequestRefused, .upstreamCallsMalformed, .upstreamDisagrees,
            .upstreamContradiction:
            true
        }
    }
}
