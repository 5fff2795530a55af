// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

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

    /// Returns the time until the share is full; a full one need not be kept.
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
