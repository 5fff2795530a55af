// SPDX-License-Identifier: Apache-2.0

/// Tokens that one node took in advance from a shared bucket, to spend them later without a request to the store.
///
/// They live for L (`Policy.life`). Without a further rule the fleet could spend, in any period, what it takes in that
/// period and what it took up to L before. So the bucket has one more rule: **before a node takes tokens in advance,
/// the bucket loses whatever it holds beyond capacity − rate·L**. In GCRA terms: the time at which the bucket is full
/// becomes `max(full at, now + L)` before the tokens are taken.
///
/// With it, at most capacity + rate·(b − a) tokens are spent in any period [a, b], however many nodes there are:
/// - What is spent in [a, b] was taken in [a, b], or in advance after a − L. If nothing was taken in advance in
///   (a − L, a), the bucket alone keeps the bound.
/// - Else let u be the first time in (a − L, a) at which a node did; everything spent was taken in [u, b]. At u,
///   `full at` ≥ u + L. Each of the T tokens taken since moved `full at` on by one emission interval e, and at the last
///   token it was b + capacity·e at most. So u + L + T·e ≤ b + capacity·e, and because u > a − L,
///   T·e < capacity·e + (b − a).
///
/// A client with few requests loses nothing by that: no node takes tokens in advance for it.
package struct TokenLease: Hashable, Sendable {
    /// Tokens reserved for undecided requests, to be returned if they are not needed.
    package struct Reservation: Hashable, Sendable {
        package let count: Int
        fileprivate let expiresAt: Instant
    }

    package let policy: Policy
    private var held = 0
    private var expiresAt: Instant?
    private var spending: Spending

    package init(_ policy: Policy) {
        self.policy = policy
        spending = Spending(span: policy.life)
    }

    /// Returns the number of available tokens. Tokens that were not spent in time are lost to all nodes.
    package func tokens(at now: Instant) -> Int {
        // The second condition fails only if the clock went back.
        guard let expiresAt, now < expiresAt, expiresAt <= now + policy.life else { return 0 }
        return held
    }

    package mutating func reserve(upTo count: Int, at now: Instant) -> Reservation {
        let reserved = min(max(0, count), tokens(at: now))
        held -= reserved
        return Reservation(count: reserved, expiresAt: expiresAt ?? now)
    }

    /// Returns reserved tokens to the lease. Their life does not change.
    package mutating func putBack(_ count: Int, of reservation: Reservation, at now: Instant) {
        add(min(count, reservation.count), until: reservation.expiresAt, at: now)
    }

    /// Adds the tokens that the shared bucket gave in advance.
    /// - Parameter requestedAt: the time of the request to the store, not later than its reply.
    package mutating func receive(_ count: Int, requestedAt: Instant, at now: Instant) {
        add(count, until: requestedAt + policy.life, at: now)
    }

    /// Records tokens that this node spent, from its lease or from the shared bucket.
    package mutating func recordSpending(_ count: Int, at now: Instant) {
        spending.record(count, at: now)
    }

    /// Returns the number of tokens to request in advance: what this node spends in half a life, so that hardly any
    /// expire. 0 while it spends few.
    package func wanted(at now: Instant) -> Int {
        let lately = spending.recent(at: now)
        return lately < Policy.fewestSpent ? 0 : min(lately / 2, policy.largestBatch)
    }

    /// Returns true if the lease is like an unused lease.
    package func isIdle(at now: Instant) -> Bool {
        tokens(at: now) == 0 && spending.recent(at: now) == 0
    }

    /// Adds tokens. All live as long as the tokens that expire first: perhaps shorter than allowed, never longer.
    private mutating func add(_ count: Int, until end: Instant, at now: Instant) {
        guard count > 0, now < end else { return }
        let left = tokens(at: now)
        expiresAt = left > 0 ? min(end, expiresAt ?? end) : end
        held = left + count
    }

    package struct Policy: Hashable, Sendable {
        /// The time in which a node may spend the tokens. A twentieth of the time in which the bucket fills, so that a
        /// busy client's burst is at most a twentieth smaller; never longer than a second.
        package let life: Duration
        /// The life that the shared bucket assumes. A little longer, as no two clocks run at the same pace.
        package let reckonedLife: Duration
        /// The maximum number taken in advance at once: a sixteenth of the capacity, to leave the other nodes theirs.
        package let largestBatch: Int

        /// Nil for a bucket that is so small, or fills so quickly, that a lease gains nothing.
        package init?(for bucket: TokenBucket.Policy) {
            life = min(bucket.timeToFill / 20, .seconds(1))
            reckonedLife = life + life / 64
            largestBatch = bucket.capacity / 16
            guard largestBatch >= Self.fewestSpent, life >= .milliseconds(10) else { return nil }
        }

        /// The number of tokens spent in a life below which a node takes none in advance.
        static let fewestSpent = 4
    }

    private struct Spending: Hashable, Sendable {
        let span: Duration
        var start: Instant?
        var present = 0
        var previous = 0

        mutating func record(_ count: Int, at now: Instant) {
            (previous, present) = shares(at: now)
            if let begun = start, begun <= now, now < begun + span * 2 {
                start = now < begun + span ? begun : begun + span
            } else {
                start = now
            }
            present += count
        }

        func recent(at now: Instant) -> Int {
            let (previous, present) = shares(at: now)
            return max(previous, present)
        }

        private func shares(at now: Instant) -> (previous: Int, present: Int) {
            guard let start, start <= now, now < start + span * 2 else { return (0, 0) }
            return now < start + span ? (previous, present) : (present, 0)
        }
    }
}
