// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Tokens that one node took out of a bucket it shares with others, to spend them later without asking again.
///
/// They live for L (`Policy.life`). Without a further rule the fleet could spend, in a stretch of time, what it takes
/// meanwhile and what it took up to L before. So the bucket has one more rule: **who takes in advance first lets it lose
/// whatever it holds beyond capacity − rate·L**. In the words of GCRA: the time at which the bucket is full becomes
/// `max(full at, now + L)` before the tokens are taken.
///
/// With it no stretch [a, b] sees more than capacity + rate·(b − a) spent, however many nodes there are:
/// - What is spent in [a, b] was taken in [a, b], or in advance after a − L. If nothing was taken in advance in
///   (a − L, a), the bucket alone says so.
/// - Else let u be the first time in (a − L, a) at which somebody did; everything spent was taken in [u, b]. At u
///   `full at` ≥ u + L. Each of the T tokens taken since moved it on by one emission interval e, and at the last of them
///   it was b + capacity·e at most. So u + L + T·e ≤ b + capacity·e, and because u > a − L, T·e < capacity·e + (b − a).
///
/// A client that is not busy loses nothing by that: nobody takes tokens in advance for it.
public struct TokenLease: Hashable, Sendable {
    /// Tokens put aside for requests whose fate is open, to be given back if they are not needed.
    public struct Reservation: Hashable, Sendable {
        /// How many.
        public let count: Int
        fileprivate let expiresAt: Instant
    }

    /// How long tokens live, and how many are taken in advance.
    public let policy: Policy
    private var held = 0
    private var expiresAt: Instant?
    private var spending: Spending

    /// No tokens.
    public init(_ policy: Policy) {
        self.policy = policy
        spending = Spending(span: policy.life)
    }

    /// How many tokens are there. Those that were not spent in time are gone for everybody.
    public func tokens(at now: Instant) -> Int {
        // The second condition fails only on a clock that went back.
        guard let expiresAt, now < expiresAt, expiresAt <= now + policy.life else { return 0 }
        return held
    }

    /// Takes up to so many.
    public mutating func reserve(upTo count: Int, at now: Instant) -> Reservation {
        let reserved = min(max(0, count), tokens(at: now))
        held -= reserved
        return Reservation(count: reserved, expiresAt: expiresAt ?? now)
    }

    /// Takes back some of what was reserved. It lives no longer than it would have.
    public mutating func putBack(_ count: Int, of reservation: Reservation, at now: Instant) {
        add(min(count, reservation.count), until: reservation.expiresAt, at: now)
    }

    /// Takes in what the shared bucket gave in advance.
    /// - Parameter askedAt: when it was asked: not later than it gave.
    public mutating func receive(_ count: Int, askedAt: Instant, at now: Instant) {
        add(count, until: askedAt + policy.life, at: now)
    }

    /// Notes that this node spent tokens, its own or the shared bucket's.
    public mutating func recordSpending(_ count: Int, at now: Instant) {
        spending.record(count, at: now)
    }

    /// How many tokens to ask for in advance: what this node spends in half a life, so that hardly any expire. None
    /// while it spends few.
    public func wanted(at now: Instant) -> Int {
        let lately = spending.recent(at: now)
        return lately < Policy.fewestSpent ? 0 : min(lately / 2, policy.largestBatch)
    }

    /// Whether it says nothing that an untouched lease would not say.
    public func isIdle(at now: Instant) -> Bool {
        tokens(at: now) == 0 && spending.recent(at: now) == 0
    }

    /// All tokens live as long as those that expire first: shorter than they might, never longer.
    private mutating func add(_ count: Int, until end: Instant, at now: Instant) {
        guard count > 0, now < end else { return }
        let left = tokens(at: now)
        expiresAt = left > 0 ? min(end, expiresAt ?? end) : end
        held = left + count
    }
}

extension TokenLease {
    /// How long tokens live, and how many are taken in advance.
    public struct Policy: Hashable, Sendable {
        /// How long a node may spend what it took. A twentieth of the time the bucket takes to fill, so that a busy
        /// client's burst is a twentieth smaller at most; never longer than a second.
        public let life: Duration
        /// The life that the shared bucket reckons with. A little longer: no two clocks run at the same pace.
        public let reckonedLife: Duration
        /// The most that one node takes in advance at once: a sixteenth of the capacity, to leave the others theirs.
        public let largestBatch: Int

        /// Nil for a bucket so small, or so quickly filled, that nothing is won.
        public init?(for bucket: TokenBucket.Policy) {
            life = min(bucket.timeToFill / 20, .seconds(1))
            reckonedLife = life + life / 64
            largestBatch = bucket.capacity / 16
            guard largestBatch >= Self.fewestSpent, life >= .milliseconds(10) else { return nil }
        }

        /// A node that spends fewer tokens in a life takes none in advance.
        static let fewestSpent = 4
    }

    /// What was spent in the present span and in the one before.
    private struct Spending: Hashable, Sendable {
        let span: Duration
        private var start: Instant?
        private var present = 0
        private var previous = 0

        init(span: Duration) {
            self.span = span
        }

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
