// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What became of a request for tokens: one outcome for each charge, in the order of the charges.
public struct RateAdmission: Hashable, Sendable {
    /// How each bucket decided. If one that is enforced refused, no bucket gave any token.
    public let outcomes: [Outcome]

    /// What the buckets decided.
    public init(_ outcomes: [Outcome]) {
        self.outcomes = outcomes
    }

    /// Whether the request may go on: no policy that is enforced refused it.
    public var isAdmitted: Bool { !outcomes.contains(where: \.isEnforcedRefusal) }

    /// After which span the same request would be admitted if nobody else asks; nil if it is admitted, or never will be
    /// because it costs more than a bucket holds.
    public var retryAfter: Duration? {
        var longest: Duration?
        for outcome in outcomes where outcome.isEnforcedRefusal {
            guard case .refused(let wait?) = outcome.decision else { return nil }
            longest = max(longest ?? .zero, wait)
        }
        return longest
    }

    /// Whether a bucket was decided on without the store, because it could not be asked.
    public var isDegraded: Bool { outcomes.contains { $0.source.isDegraded } }
}

extension RateAdmission {
    /// How one bucket decided.
    public struct Outcome: Hashable, Sendable {
        /// What was asked of it.
        public let charge: RateCharge
        /// What it decided.
        public let decision: Decision
        /// How many whole tokens are left, as far as this node knows: nodes that hold tokens taken in advance count them
        /// in, tokens that other nodes hold are out.
        public let remaining: Int
        /// How long until the bucket is full, if nobody takes any more.
        public let timeUntilFull: Duration
        /// Who decided.
        public let source: Source

        /// An outcome.
        public init(
            _ charge: RateCharge, _ decision: Decision, remaining: Int, timeUntilFull: Duration, source: Source
        ) {
            self.charge = charge
            self.decision = decision
            self.remaining = remaining
            self.timeUntilFull = timeUntilFull
            self.source = source
        }

        /// Whether this bucket alone ends the request.
        public var isEnforcedRefusal: Bool { !charge.bucket.policy.isShadow && decision.isRefusal }
    }

    /// What a bucket decided.
    public enum Decision: Hashable, Sendable {
        /// It has the tokens. They are taken if every enforced bucket has them.
        case admitted
        /// It has not. The same request would be admitted after this span if nobody else asks; with nil never, because
        /// it costs more than the bucket holds.
        case refused(retryAfter: Duration?)

        /// Whether the bucket has not the tokens.
        public var isRefusal: Bool { if case .refused = self { true } else { false } }
    }

    /// Who decided.
    public enum Source: String, CaseIterable, Hashable, Sendable {
        /// Tokens that this node took in advance.
        case lease
        /// The store; also the one within this process.
        case store
        /// This node's memory that the bucket is empty for a while yet.
        case rememberedRefusal = "remembered_refusal"
        /// This node's share of the limit, while the store cannot be asked.
        case localShare = "local_share"
        /// Nobody: the store cannot be asked, and the policy lets everything pass meanwhile.
        case open
        /// Nobody: the store cannot be asked, and the policy lets nothing pass meanwhile.
        case closed

        /// Whether the store should have decided and could not.
        public var isDegraded: Bool {
            switch self {
            case .lease, .store, .rememberedRefusal: false
            case .localShare, .open, .closed: true
            }
        }
    }
}
