// SPDX-License-Identifier: Apache-2.0

/// Admits bursts of up to `capacity` tokens, and the refill rate in the long run.
///
/// The arithmetic follows GCRA, the generic cell rate algorithm (ITU-T I.371): a bucket is one number, the time at
/// which it will be full again. To take from several buckets all or nothing, take from copies and keep the copies.
package struct TokenBucket: Hashable, Sendable {
    package let policy: Policy
    /// The theoretical arrival time of GCRA. Nil for an unused bucket, which is full.
    private var fullAt: Instant?

    package init(_ policy: Policy) { self.policy = policy }

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

    /// Returns the time until the bucket is full; a full bucket need not be kept.
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

package enum TokenDecision: Hashable, Sendable {
    case admitted
    /// The tokens are not available, and none are taken. Without other requests, an equal request would be admitted
    /// after this time. Nil for a cost above the bucket's capacity.
    case refused(retryAfter: Duration?)

    package var isRefusal: Bool { self != .admitted }
}

/// The share of a common token bucket that one of n nodes may admit while the nodes cannot reach the bucket: an n-th.
///
/// It is kept as the whole bucket, from which each request takes n times its cost, so it follows the number of nodes
/// without conversion. A full share always admits one request, and goes into debt if n times its cost exceeds the
/// bucket: the rate holds however small the bucket is.
///
/// n nodes together admit at most max(capacity, n · the largest cost) + rate·t.
package struct FairShare: Hashable, Sendable {
    private let policy: TokenBucket.Policy
    private var fullAt: Instant?

    package init(of policy: TokenBucket.Policy) { self.policy = policy }

    /// Takes a request's tokens if they are available.
    /// - Parameter cost: at most the capacity of the whole bucket.
    package mutating func take(_ cost: Int, nodes: Int, at now: Instant) -> TokenDecision {
        let from = fullAt(at: now)
        let until = from + time(for: cost, nodes)
        guard from == now || until <= now + policy.timeToFill else {
            return .refused(retryAfter: now.duration(to: min(from, until - policy.timeToFill)))
        }
        fullAt = until
        return .admitted
    }

    /// Takes the available tokens, up to `cost`, for a request admitted elsewhere: the share of an active client has no
    /// second burst to give when the common bucket fails.
    package mutating func record(_ cost: Int, nodes: Int, at now: Instant) {
        let from = fullAt(at: now)
        fullAt = max(from, min(from + time(for: cost, nodes), now + policy.timeToFill))
    }

    /// Returns the number of requests of cost 1 that are admitted at once.
    package func remaining(nodes: Int, at now: Instant) -> Int {
        let left = policy.timeToFill - timeUntilFull(at: now)
        let whole = left <= .zero ? 0 : Int(left.attoseconds / time(for: 1, nodes).attoseconds)
        return left == policy.timeToFill ? max(1, whole) : whole
    }

    /// Returns the time until the share is full; a full share need not be kept.
    package func timeUntilFull(at now: Instant) -> Duration {
        now.duration(to: fullAt(at: now))
    }

    /// Returns `fullAt`, not before `now` and, after a clock that went back, not beyond the deepest debt.
    private func fullAt(at now: Instant) -> Instant {
        (fullAt ?? now).clamped(to: now...now + policy.timeToFill * Limits.nodes.upperBound)
    }

    private func time(for cost: Int, _ nodes: Int) -> Duration {
        policy.emissionInterval * cost.clamped(to: 1...policy.capacity) * nodes.clamped(to: Limits.nodes)
    }

    package enum Limits {
        package static let nodes = 1...1000
    }
}
