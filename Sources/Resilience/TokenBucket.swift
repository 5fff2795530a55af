// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Admits bursts of up to `capacity` tokens and the refill rate in the long run.
///
/// The arithmetic is that of GCRA, the generic cell rate algorithm (ITU-T I.371): a bucket is one number, the time at
/// which it will be full again. To take from several buckets all or nothing, take from copies and keep the copies.
public struct TokenBucket: Hashable, Sendable {
    /// What becomes of a request for tokens.
    public enum Decision: Hashable, Sendable {
        /// The tokens are taken; so many whole ones are left.
        case admitted(remaining: Int)
        /// Nothing is taken. The same request would be admitted after this span if nobody else asks.
        case refused(retryAfter: Duration)
        /// Nothing is taken, and nothing will be, however long one waits.
        case costExceedsCapacity
    }

    /// What the bucket is filled with, and how fast.
    public let policy: Policy
    /// The theoretical arrival time of GCRA. Absent while the bucket has never been touched, and is full.
    private var fullAt: Instant?

    /// A full bucket.
    public init(_ policy: Policy) {
        self.policy = policy
    }

    /// A bucket of which somebody else said how long it takes to fill.
    public init(_ policy: Policy, timeUntilFull: Duration, at now: Instant) {
        self.policy = policy
        fullAt = now + timeUntilFull.clamped(to: .zero...policy.timeToFill)
    }

    /// Takes `cost` tokens if so many are there. A cost of 0, or less, takes nothing and is always admitted.
    public mutating func take(_ cost: Int = 1, at now: Instant) -> Decision {
        guard cost <= policy.capacity else { return .costExceedsCapacity }
        let newFullAt = fullAt(at: now) + policy.time(for: max(0, cost))
        let left = policy.timeToFill - now.duration(to: newFullAt)
        if left < .zero { return .refused(retryAfter: .zero - left) }
        fullAt = newFullAt
        return .admitted(remaining: policy.wholeTokens(in: left))
    }

    /// How many whole tokens are there.
    public func remaining(at now: Instant) -> Int {
        policy.wholeTokens(in: policy.timeToFill - timeUntilFull(at: now))
    }

    /// How long until the bucket is full; a full one need not be kept.
    public func timeUntilFull(at now: Instant) -> Duration {
        now.duration(to: fullAt(at: now))
    }

    /// Lets time run ahead by `span`, for this bucket only. A full bucket stays full.
    mutating func refill(by span: Duration, at now: Instant) {
        fullAt = max(now, fullAt(at: now) - span)
    }

    /// Not before `now`, or tokens would pile up above the capacity; not further than an empty bucket takes to fill, or
    /// a clock that went back would leave the bucket empty for longer.
    private func fullAt(at now: Instant) -> Instant {
        (fullAt ?? now).clamped(to: now...now + policy.timeToFill)
    }
}

extension TokenBucket {
    /// How much a bucket holds and how fast it fills.
    public struct Policy: Hashable, Sendable {
        /// The most tokens the bucket holds: the largest burst.
        public let capacity: Int
        /// The time one token takes to arrive.
        public let emissionInterval: Duration
        /// How long an empty bucket takes to fill.
        public let timeToFill: Duration

        /// A bucket of `capacity` tokens, into which `refill` tokens arrive evenly `per` each such span, such as 1000
        /// per minute. What lies outside `Limits` is taken for the nearest that does not.
        public init(capacity: Int, refill: Int, per span: Duration) {
            self.capacity = capacity.clamped(to: Limits.tokens)
            emissionInterval = span.clamped(to: Limits.span) / refill.clamped(to: Limits.tokens)
            timeToFill = emissionInterval * self.capacity
        }

        // Every request passes here. As integers these two cost a fraction of what durations take, and round nothing.

        fileprivate func time(for tokens: Int) -> Duration {
            Duration(attoseconds: emissionInterval.attoseconds * Int128(tokens))
        }

        fileprivate func wholeTokens(in span: Duration) -> Int {
            Int(span.attoseconds / emissionInterval.attoseconds)
        }
    }

    /// What a policy may say. Within these no product of its numbers overflows.
    public enum Limits {
        /// Tokens in a bucket, and tokens that arrive in one span.
        public static let tokens = 1...1_000_000_000
        /// The span in which the refill arrives; a year covers every quota.
        public static let span: ClosedRange<Duration> = .milliseconds(1) ... .seconds(366 * 86_400)
    }
}
