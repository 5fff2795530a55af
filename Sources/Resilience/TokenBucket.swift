// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Admits bursts of up to `capacity` tokens, and the refill rate in the long run.
///
/// The arithmetic is that of GCRA, the generic cell rate algorithm (ITU-T I.371): a bucket is one number, the time at
/// which it will be full again. To take from several buckets all or nothing, take from copies and keep the copies.
package struct TokenBucket: Hashable, Sendable {
    package let policy: Policy
    /// The theoretical arrival time of GCRA. Nil for an unused bucket, which is full.
    private var fullAt: Instant?

    package init(_ policy: Policy) { self.policy = policy }

    /// Creates a bucket from its known time to fill.
    package init(_ policy: Policy, timeUntilFull: Duration, at now: Instant) {
        self.policy = policy
        fullAt = now + timeUntilFull.clamped(to: .zero...policy.timeToFill)
    }

    /// Takes `cost` tokens if they are available. A cost of 0, or less, takes nothing and is always admitted.
    package mutating func take(_ cost: Int = 1, at now: Instant) -> TokenDecision {
        guard cost <= policy.capacity else { return .refused(retryAfter: nil) }
        let newFullAt = fullAt(at: now) + policy.time(for: max(0, cost))
        let left = policy.timeToFill - now.duration(to: newFullAt)
        if left < .zero { return .refused(retryAfter: .zero - left) }
        fullAt = newFullAt
        return .admitted
    }

    package func remaining(at now: Instant) -> Int {
        Int((policy.timeToFill - timeUntilFull(at: now)).attoseconds / policy.emissionInterval.attoseconds)
    }

    /// Returns the time until the bucket is full; a full one need not be kept.
    package func timeUntilFull(at now: Instant) -> Duration {
        now.duration(to: fullAt(at: now))
    }

    /// Advances time by `span` for this bucket only. A full bucket stays full.
    mutating func refill(by span: Duration, at now: Instant) {
        fullAt = max(now, fullAt(at: now) - span)
    }

    /// Returns `fullAt`, not before `now`, or tokens would exceed the capacity. After a clock that went back, it is not
    /// further ahead than an empty bucket takes to fill.
    private func fullAt(at now: Instant) -> Instant {
        (fullAt ?? now).clamped(to: now...now + policy.timeToFill)
    }
}

/// The decision about a request for tokens.
package enum TokenDecision: Hashable, Sendable {
    case admitted
    /// The tokens are not available, and none are taken. Without other requests, the same one would be admitted after
    /// this time; with nil never, because it costs more than the bucket holds.
    case refused(retryAfter: Duration?)

    package var isRefusal: Bool { self != .admitted }
}

extension TokenBucket {
    package struct Policy: Hashable, Sendable {
        package let capacity: Int
        /// The time in which one token arrives.
        package let emissionInterval: Duration
        package let timeToFill: Duration

        /// Creates a policy of `refill` tokens per `span`, such as 1000 per minute. Values outside `Limits` are
        /// clamped.
        package init(capacity: Int, refill: Int, per span: Duration) {
            self.capacity = capacity.clamped(to: Limits.tokens)
            emissionInterval = span.clamped(to: Limits.span) / refill.clamped(to: Limits.tokens)
            timeToFill = emissionInterval * self.capacity
        }

        // On the path of every request: integers cost a fraction of what durations cost, and round nothing.

        fileprivate func time(for tokens: Int) -> Duration {
            Duration(attoseconds: emissionInterval.attoseconds * Int128(tokens))
        }
    }

    /// The limits of a policy. Within these no product of its numbers overflows.
    package enum Limits {
        /// Tokens in a bucket, and tokens that arrive in one span.
        package static let tokens = 1...1_000_000_000
        /// The span in which the refill arrives; a year covers every quota.
        package static let span: ClosedRange<Duration> = .milliseconds(1) ... .seconds(366 * 86_400)
    }
}
