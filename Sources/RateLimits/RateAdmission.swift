// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Resilience

/// The decision about a request: one outcome for each charge, in the order of the charges.
public struct RateAdmission: Hashable, Sendable {
    /// The decisions of the buckets. If an enforced one refused, no bucket gave any token.
    public let outcomes: [Outcome]

    /// True if no enforced policy refused the request.
    public var isAdmitted: Bool { !outcomes.contains(where: \.isEnforcedRefusal) }

    /// The time after which the same request alone would be admitted; nil if it is admitted, or costs too much for a
    /// bucket.
    public var retryAfter: Duration? {
        var longest: Duration?
        for outcome in outcomes where outcome.isEnforcedRefusal {
            guard case .refused(let wait?) = outcome.decision else { return nil }
            longest = max(longest ?? .zero, wait)
        }
        return longest
    }

    /// True if a bucket was decided on without the store, which was unavailable.
    public var isDegraded: Bool { outcomes.contains { $0.source.isDegraded } }

    /// The decision of one bucket.
    public struct Outcome: Hashable, Sendable {
        /// The charge.
        public let charge: RateCharge
        /// The decision. Admitted tokens are taken only if every enforced bucket has them.
        public let decision: TokenDecision
        /// The number of whole tokens left, as this node knows it: with its own tokens taken in advance, without other
        /// nodes'.
        public let remaining: Int
        /// The time until the bucket is full, without further requests.
        public let timeUntilFull: Duration
        /// The source of the decision.
        public let source: Source

        /// The time until the bucket is full; after a refusal, until it has enough tokens for the same request.
        public var timeUntilReset: Duration { if case .refused(let wait?) = decision { wait } else { timeUntilFull } }

        /// True if the bucket lacks the tokens.
        public var isRefusal: Bool { decision.isRefusal }

        /// True if this bucket alone is enough to refuse the request.
        public var isEnforcedRefusal: Bool { !charge.bucket.policy.isShadow && isRefusal }
    }

    /// The source of a decision.
    public enum Source: String, CaseIterable, Hashable, Sendable {
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
        public var isDegraded: Bool {
            switch self {
            case .lease, .store, .rememberedRefusal: false
            case .localShare, .open, .closed: true
            }
        }
    }
}
