// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Resilience

/// The decision about a request: one outcome for each charge, in the order of the charges.
public struct RateAdmission: Hashable, Sendable {
    /// The decisions of the buckets. If an enforced one refused, no bucket gave any token.
    package let outcomes: [Outcome]

    /// True if no enforced policy refused the request.
    package var isAdmitted: Bool { !outcomes.contains(where: \.isEnforcedRefusal) }

    /// The time after which the same request alone would be admitted; nil if it is admitted, or costs too much for a
    /// bucket.
    package var retryAfter: Duration? {
        var longest: Duration?
        for outcome in outcomes where outcome.isEnforcedRefusal {
            guard case .refused(let wait?) = outcome.decision else { return nil }
            longest = max(longest ?? .zero, wait)
        }
        return longest
    }

    /// True if a bucket was decided on without the store, which was unavailable.
    package var isDegraded: Bool { outcomes.contains { $0.source.isDegraded } }

    package struct Outcome: Hashable, Sendable {
        package let charge: RateCharge
        /// The decision. Admitted tokens are taken only if every enforced bucket has them.
        package let decision: TokenDecision
        /// The number of whole tokens left, as this node knows it: with its own tokens taken in advance, without other
        /// nodes'.
        package let remaining: Int
        /// The time until the bucket is full, without further requests.
        package let timeUntilFull: Duration
        package let source: Source

        /// The time until the bucket is full; after a refusal, until it has enough tokens for the same request.
        package var timeUntilReset: Duration { if case .refused(let wait?) = decision { wait } else { timeUntilFull } }

        package var isRefusal: Bool { decision.isRefusal }

        /// True if this bucket alone is enough to refuse the request.
        package var isEnforcedRefusal: Bool { !charge.bucket.policy.isShadow && isRefusal }
    }

    /// The source of a decision.
    package enum Source: String, CaseIterable, Hashable, Sendable {
        /// Tokens that this node took in advance.
        case lease
        /// The store, or the buckets within this process.
        case store
        /// A refusal that this node remembers: the bucket is still empty.
        case rememberedRefusal = "remembered_refusal"
        /// This node's share of the limit, while the store is unavailable.
        case localShare = "local_share"
        /// The policy's rule to admit everything while the store is unavailable.
        case open
        /// The policy's rule to admit nothing while the store is unavailable.
        case closed

        /// True if the store should have decided but was unavailable.
        package var isDegraded: Bool {
            switch self {
            case .lease, .store, .rememberedRefusal: false
            case .localShare, .open, .closed: true
            }
        }
    }
}
