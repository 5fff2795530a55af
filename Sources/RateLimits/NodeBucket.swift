// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// What one node knows of a bucket that all share.
struct NodeBucket: Sendable {
    /// What can be said of a charge without asking the store.
    enum Judgement {
        /// The tokens are here.
        case leased
        /// It will be refused for so long yet; with nil, always.
        case refused(Duration?)
        /// Only the store can say.
        case unknown
    }

    private struct Refusal {
        let cost: Int
        let until: Instant
    }

    /// Tokens taken in advance; nil if the policy is not leased.
    private(set) var lease: TokenLease?
    private var share: FairShare
    private var refusal: Refusal?
    /// The bucket in the store, as it was last seen.
    private var seen: TokenBucket
    /// Whether many buckets have this place in common: then only the share means something.
    private let isCommon: Bool

    init(_ policy: RatePolicy, isCommon: Bool) {
        let bucket = policy.tokenBucket
        let leasing = policy.isLeased && !isCommon ? TokenLease.Policy(for: bucket) : nil
        lease = leasing.map { TokenLease($0) }
        share = FairShare(of: bucket)
        seen = TokenBucket(bucket)
        self.isCommon = isCommon
    }

    /// Whether nothing is lost if it is forgotten.
    func isEmpty(at now: Instant) -> Bool {
        share.timeUntilFull(at: now) == .zero && lease?.isIdle(at: now) ?? true && (refusal?.until ?? now) <= now
    }

    // MARK: - Without the store

    /// What can be said of a charge without asking the store.
    func judge(_ charge: RateCharge, at now: Instant) -> Judgement {
        if charge.cost > charge.bucket.policy.burst { return .refused(nil) }
        if let lease, lease.tokens(at: now) >= charge.cost { return .leased }
        if let refusal, charge.cost >= refusal.cost, now < refusal.until {
            return .refused(now.duration(to: refusal.until))
        }
        return .unknown
    }

    /// Takes the tokens of one request out of the lease.
    mutating func spend(_ cost: Int, nodes: Int, at now: Instant) {
        _ = lease?.reserve(upTo: cost, at: now)
        record(cost, nodes: nodes, at: now)
    }

    /// Decides as the policy says while the store cannot be asked.
    mutating func decideAlone(
        _ charge: RateCharge, nodes: Int, at now: Instant
    ) -> BucketTable<NodeBucket>.BucketDecision {
        let policy = charge.bucket.policy
        switch judge(charge, at: now) {
        case .refused(let wait): return .init(decision: .refused(retryAfter: wait), source: .rememberedRefusal)
        case .leased:
            spend(charge.cost, nodes: nodes, at: now)
            return .init(decision: .admitted, source: .lease)
        case .unknown: break
        }
        switch policy.whenStoreFails {
        case .open:
            record(charge.cost, nodes: nodes, at: now)
            return .init(decision: .admitted, source: .open)
        case .closed: return .init(decision: .refused(retryAfter: FleetRateLimiter.Limits.memory), source: .closed)
        case .local: return .init(decision: takeShare(charge.cost, nodes: nodes, at: now), source: .localShare)
        }
    }

    private mutating func takeShare(_ cost: Int, nodes: Int, at now: Instant) -> RateAdmission.Decision {
        switch share.take(cost, nodes: nodes, at: now) {
        case .admitted: .admitted
        case .refused(let wait): .refused(retryAfter: wait)
        }
    }

    // MARK: - With the store

    /// Puts tokens of the lease aside for some requests, and says what else is wanted.
    mutating func prepare(_ charge: RateCharge, requests: Int, at now: Instant) -> Preparation {
        let needed = charge.cost * requests
        guard let reservation = lease?.reserve(upTo: needed, at: now) else {
            return Preparation(charge: charge, reservation: nil, line: TokenRequest.Line(charge))
        }
        guard reservation.count < needed, let lease else {
            return Preparation(charge: charge, reservation: reservation, line: nil)
        }
        let line = TokenRequest.Line(
            charge, prepaid: reservation.count, inAdvance: lease.wanted(at: now), life: lease.policy.reckonedLife)
        return Preparation(charge: charge, reservation: reservation, line: line)
    }

    /// Keeps what came of it.
    /// - Parameters:
    ///   - line: what the store gave; nil if it was not asked, because the lease had enough.
    ///   - requests: how many are admitted.
    mutating func settle(
        _ preparation: Preparation, with line: TokenGrant.Line?, requests: Int, nodes: Int, moment: Moment
    ) {
        let paid = min(requests, line?.requests ?? requests) * preparation.charge.cost
        if let reservation = preparation.reservation {
            lease?.putBack(max(0, reservation.count - paid), of: reservation, at: moment.now)
        }
        if paid > 0 { record(paid, nodes: nodes, at: moment.now) }
        guard let line else { return }
        lease?.receive(line.inAdvance, askedAt: moment.askedAt, at: moment.now)
        seen = TokenBucket(
            preparation.charge.bucket.policy.tokenBucket, timeUntilFull: line.timeUntilFull, at: moment.askedAt)
        guard !isCommon else { return }
        // The bucket cannot have tokens earlier, unless it is emptied from outside: after a while it is asked again.
        let wait = min(line.timeUntilNext, FleetRateLimiter.Limits.memory)
        refusal = wait > .zero ? Refusal(cost: preparation.charge.cost, until: moment.askedAt + wait) : nil
    }

    /// Gives back what was put aside.
    mutating func abandon(_ preparation: Preparation, at now: Instant) {
        guard let reservation = preparation.reservation else { return }
        lease?.putBack(reservation.count, of: reservation, at: now)
    }

    // MARK: - What it says

    /// How it stands, for an answer.
    func outcome(
        _ charge: RateCharge, _ decision: BucketTable<NodeBucket>.BucketDecision, nodes: Int, at now: Instant
    ) -> RateAdmission.Outcome {
        let isLocal = decision.source == .localShare
        let left = seen.remaining(at: now) + (lease?.tokens(at: now) ?? 0)
        return RateAdmission.Outcome(
            charge, decision.decision, remaining: isLocal ? share.remaining(nodes: nodes, at: now) : left,
            timeUntilFull: isLocal ? share.timeUntilFull(at: now) : seen.timeUntilFull(at: now),
            source: decision.source)
    }

    private mutating func record(_ tokens: Int, nodes: Int, at now: Instant) {
        share.record(tokens, nodes: nodes, at: now)
        lease?.recordSpending(tokens, at: now)
    }

    /// What one bucket contributes to an order.
    struct Preparation: Sendable {
        let charge: RateCharge
        /// What was put aside of the lease.
        let reservation: TokenLease.Reservation?
        /// What the store is asked for; nil for nothing.
        let line: TokenRequest.Line?
    }

    /// When the store was asked, and when it had answered.
    struct Moment: Sendable {
        let askedAt: Instant
        let now: Instant
    }
}
