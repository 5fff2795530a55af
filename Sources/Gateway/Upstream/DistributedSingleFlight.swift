// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// Decides who in the fleet asks Apple about a receipt.
///
/// ```
/// take the lease ──▶ anything new in the cache? ──▶ held: ask      taken: wait for a change, or a moment
///        ▲                    └──▶ take that                                   │
///        └────────────────────────────────────────────────── after 1.5 s: ask ◀┘
/// ```
struct DistributedSingleFlight: Sendable {
    /// What the caller is to do.
    enum Turn: Sendable {
        /// Ask, and release the lease if there is one.
        case ask(FlightLease?, LeaseOutcome)
        /// Answer with what another node has found out.
        case found(CachedResult)
        /// Answer without Apple: the node that was waited for has asked in vain.
        case failed(DegradedReason)
    }

    /// How long other nodes are waited for.
    enum Limits {
        /// After that Apple is asked, whoever else does.
        static let wait: Duration = .milliseconds(1500)
        /// How long to wait for a change before looking again; twice as long each time.
        static let firstPoll: Duration = .milliseconds(50)
        /// The longest of these.
        static let longestPoll: Duration = .milliseconds(200)
    }

    let leases: any FlightLeases

    /// Waits for the caller's turn.
    /// - Parameter news: looks for what another node has found out since the caller looked.
    func turn(for key: CacheKey, _ news: () async -> CachedResult?) async -> Turn {
        let end = Instant.now + Limits.wait
        var holder: String?
        var poll = Limits.firstPoll
        while true {
            let attempt = await leases.acquire(key, awaiting: holder)
            // After the attempt, not before it: findings are stored before their leases are released.
            if let found = await news() {
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

/// What a lease did for one question. The raw values are those of metrics.
public enum LeaseOutcome: String, CaseIterable, Hashable, Sendable {
    /// This node asked for the fleet.
    case held
    /// Another node had the answer.
    case found
    /// Another node asked in vain.
    case failed
    /// Another node took too long; this one asked as well.
    case overdue
    /// The shared store did not tell; this node asked.
    case unavailable
}

extension DistributedSingleFlight.Turn {
    /// For counting.
    var outcome: LeaseOutcome {
        switch self {
        case .ask(_, let outcome): outcome
        case .found: .found
        case .failed: .failed
        }
    }
}

extension DegradedReason {
    /// Whether it is about Apple, and another node would fare no better. What is wrong with this node is nobody else's.
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
