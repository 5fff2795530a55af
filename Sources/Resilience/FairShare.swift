// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What one of n nodes may admit on its own while they cannot ask their common token bucket: an n-th of it.
///
/// It is the whole bucket, from which each request takes n times its cost. So the share follows the number of nodes
/// without being poured into another bucket. A full share always admits one request, and goes into debt for it if n
/// times its cost is more than the bucket holds: the rate holds however small the bucket is.
///
/// n nodes together admit at most max(capacity, n · the largest cost) + rate·t.
public struct FairShare: Hashable, Sendable {
    /// What becomes of a request for tokens.
    public enum Decision: Hashable, Sendable {
        /// The tokens are taken.
        case admitted
        /// Nothing is taken. The same request would be admitted after this span.
        case refused(retryAfter: Duration)
    }

    private let policy: TokenBucket.Policy
    private var fullAt: Instant?

    /// A full share.
    /// - Parameter policy: the whole bucket.
    public init(of policy: TokenBucket.Policy) {
        self.policy = policy
    }

    /// Takes a request's tokens if they are there.
    /// - Parameter cost: not more than the whole bucket holds.
    public mutating func take(_ cost: Int, nodes: Int, at now: Instant) -> Decision {
        let from = fullAt(at: now)
        let until = from + time(for: cost, nodes)
        guard from == now || until <= now + policy.timeToFill else {
            return .refused(retryAfter: now.duration(to: min(from, until - policy.timeToFill)))
        }
        fullAt = until
        return .admitted
    }

    /// Takes what somebody else has admitted, as far as it is there: a share that is kept up to date has no second burst
    /// to give when the common bucket fails.
    public mutating func record(_ cost: Int, nodes: Int, at now: Instant) {
        let from = fullAt(at: now)
        fullAt = max(from, min(from + time(for: cost, nodes), now + policy.timeToFill))
    }

    /// How many requests of cost 1 are admitted at once.
    public func remaining(nodes: Int, at now: Instant) -> Int {
        let left = policy.timeToFill - timeUntilFull(at: now)
        let whole = left <= .zero ? 0 : Int(left.attoseconds / time(for: 1, nodes).attoseconds)
        return left == policy.timeToFill ? max(1, whole) : whole
    }

    /// How long until the share is full; a full one need not be kept.
    public func timeUntilFull(at now: Instant) -> Duration {
        now.duration(to: fullAt(at: now))
    }

    /// Not before `now`; after a clock that went back, not further than the deepest debt.
    private func fullAt(at now: Instant) -> Instant {
        (fullAt ?? now).clamped(to: now...now + policy.timeToFill * Limits.nodes.upperBound)
    }

    private func time(for cost: Int, _ nodes: Int) -> Duration {
        policy.emissionInterval * cost.clamped(to: 1...policy.capacity) * nodes.clamped(to: Limits.nodes)
    }

    /// What a share may be asked.
    public enum Limits {
        /// Nodes of a fleet.
        public static let nodes = 1...1000
    }
}
