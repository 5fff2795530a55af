// SPDX-License-Identifier: Apache-2.0

/// Decides whether a request is admitted, by the token buckets it is charged to.
///
/// A decision never fails, and never waits longer than a command to the store may take: each policy has a rule for an
/// unavailable store.
package protocol RateLimiter: Sendable {
    /// Takes the tokens of all charges or of none.
    ///
    /// Policies in shadow mode never refuse. If the other policies admit the request, shadow policies take their tokens
    /// or report a lack of tokens.
    ///
    /// - Parameter charges: the costs of the request; no bucket twice, all of one client. An empty list is admitted.
    func admit(_ charges: [RateCharge]) async -> RateAdmission

    /// Takes the tokens without waiting; nil, with nothing taken, if the request cannot be decided at once.
    func admitAtOnce(_ charges: [RateCharge]) -> RateAdmission?

    /// Returns the refusal that these charges would get now; nil if they may be admitted. Takes nothing, without the
    /// store.
    func knownRefusal(of charges: [RateCharge]) -> RateAdmission?
}

package struct RateCharge: Hashable, Sendable {
    package let bucket: RateBucket
    package let cost: Int

    /// Creates a charge; a cost below one token becomes one.
    package init(_ bucket: RateBucket, cost: Int = 1) {
        self.bucket = bucket
        self.cost = max(1, cost)
    }

    /// Returns true if this decision of its bucket, nil for none yet, is enough to refuse the request.
    func isRefused(by decision: TokenDecision?) -> Bool {
        !bucket.policy.isShadow && decision?.isRefusal == true
    }
}

/// The identity of a bucket: equal identities are the same bucket for the whole fleet.
package struct RateBucket: Hashable, Sendable {
    /// The client it belongs to. All buckets of a client are in one place of the store.
    package var client: String
    /// The capacity and the refill rate. Another policy is another bucket, full at first.
    package var policy: RatePolicy
    /// The subject counted within the client, such as an app or an address; empty for the client itself.
    package var subject: String

    package init(client: String, policy: RatePolicy, subject: String = "") {
        self.client = client
        self.policy = policy
        self.subject = subject
    }
}

/// A rate limit, and its rule for an unavailable store.
package struct RatePolicy: Hashable, Sendable {
    /// The name in headers, metrics and the store, such as `minute`.
    package let name: String
    /// The number of tokens that arrive in each window, evenly.
    package let quota: Int
    package let window: Duration
    /// The maximum number of tokens in the bucket: the largest number that may be taken at once.
    package let burst: Int
    package let whenStoreFails: StoreFailureRule
    /// True if the policy is only observed: it decides and is counted, but refuses nothing.
    package let isShadow: Bool
    /// True if nodes may take tokens in advance, which saves most requests to the store for busy clients.
    package let isLeased: Bool

    /// Creates a policy; values outside `Limits` are clamped.
    /// - Parameter burst: the quota if absent.
    package init(
        name: String, quota: Int, window: Duration, burst: Int? = nil, whenStoreFails: StoreFailureRule = .local,
        isShadow: Bool = false, isLeased: Bool = true
    ) {
        self.name = name
        self.quota = quota.clamped(to: Limits.tokens)
        self.window = window.clamped(to: Limits.window)
        let largestBurst = Int(Limits.timeToFill / (self.window / self.quota)).clamped(to: Limits.tokens)
        self.burst = (burst ?? quota).clamped(to: Limits.tokens.lowerBound...largestBurst)
        self.whenStoreFails = whenStoreFails
        self.isShadow = isShadow
        self.isLeased = isLeased
    }

    package var tokenBucket: TokenBucket.Policy {
        TokenBucket.Policy(capacity: burst, refill: quota, per: window)
    }

    /// The limits of a policy. The store counts time in whole microseconds and keeps integers of 53 bits.
    package enum Limits {
        /// Tokens in a bucket, and tokens that arrive in one window.
        package static let tokens = 1...10_000_000
        package static let window: ClosedRange<Duration> = .milliseconds(100) ... .seconds(31 * 86_400)
        /// The time in which an empty bucket fills: a larger burst would hardly ever be available.
        package static let timeToFill: Duration = .seconds(366 * 86_400)
    }
}

package enum StoreFailureRule: String, CaseIterable, Hashable, Sendable {
    /// Each node admits its share: the limit divided by the number of live nodes.
    case local
    case open
    case closed
}

/// The decision about a request: one outcome for each charge, in the order of the charges.
package struct RateAdmission: Hashable, Sendable {
    /// The decisions of the buckets. If an enforced bucket refused, no bucket gave any token.
    package let outcomes: [Outcome]

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
        package var isEnforcedRefusal: Bool { charge.isRefused(by: decision) }
    }

    package enum Source: String, CaseIterable, Hashable, Sendable {
        case lease
        /// The store, or the buckets within this process.
        case store
        /// A refusal that this node remembers: the bucket is still empty.
        case rememberedRefusal = "remembered_refusal"
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
