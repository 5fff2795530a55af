// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// The state of a shared bucket, as one node knows it.
struct NodeBucket: Sendable {
    private struct Refusal {
        let cost: Int
        let until: Instant
    }

    /// Tokens taken in advance; nil if the policy is not leased.
    private(set) var lease: TokenLease?
    private var share: FairShare
    private var refusal: Refusal?
    /// The last known state of the bucket in the store.
    private var seen: TokenBucket
    /// True if many buckets share this value: then only the share means something.
    private let isCommon: Bool

    init(_ policy: RatePolicy, isCommon: Bool) {
        let bucket = policy.tokenBucket
        let leasing = policy.isLeased && !isCommon ? TokenLease.Policy(for: bucket) : nil
        lease = leasing.map { TokenLease($0) }
        share = FairShare(of: bucket)
        seen = TokenBucket(bucket)
        self.isCommon = isCommon
    }

    /// Returns true if nothing is lost by removing it.
    func isEmpty(at now: Instant) -> Bool {
        share.timeUntilFull(at: now) == .zero && lease?.isIdle(at: now) ?? true && (refusal?.until ?? now) <= now
    }

    /// Decides about a charge without the store; nil if only the store can decide.
    func decideLocally(_ charge: RateCharge, at now: Instant) -> BucketDecision? {
        if charge.cost > charge.bucket.policy.burst {
            return BucketDecision(decision: .refused(retryAfter: nil), source: .rememberedRefusal)
        }
        if let lease, lease.tokens(at: now) >= charge.cost {
            return BucketDecision(decision: .admitted, source: .lease)
        }
        guard let refusal, charge.cost >= refusal.cost, now < refusal.until else { return nil }
        return BucketDecision(
            decision: .refused(retryAfter: now.duration(to: refusal.until)), source: .rememberedRefusal)
    }

    /// Spends leased tokens for one request.
    mutating func spend(_ cost: Int, nodes: Int, at now: Instant) {
        _ = lease?.reserve(upTo: cost, at: now)
        record(cost, nodes: nodes, at: now)
    }

    /// Decides by the policy's rule for an unavailable store.
    mutating func decideAlone(_ charge: RateCharge, nodes: Int, at now: Instant) -> BucketDecision {
        if let known = decideLocally(charge, at: now) {
            if !known.decision.isRefusal { spend(charge.cost, nodes: nodes, at: now) }
            return known
        }
        switch charge.bucket.policy.whenStoreFails {
        case .open:
            record(charge.cost, nodes: nodes, at: now)
            return .init(decision: .admitted, source: .open)
        case .closed: return .init(decision: .refused(retryAfter: FleetRateLimiter.Limits.memory), source: .closed)
        case .local: return .init(decision: share.take(charge.cost, nodes: nodes, at: now), source: .localShare)
        }
    }

    /// Reserves leased tokens for some requests, and returns what else to request from the store.
    mutating func prepare(_ charge: RateCharge, requests: Int, at now: Instant) -> Preparation {
        let needed = charge.cost * requests
        guard let reservation = lease?.reserve(upTo: needed, at: now) else {
            return Preparation(charge: charge, reservation: nil, line: TokenRequest.Line(charge: charge))
        }
        guard reservation.count < needed, let lease else {
            return Preparation(charge: charge, reservation: reservation, line: nil)
        }
        let line = TokenRequest.Line(
            charge: charge, prepaid: reservation.count, inAdvance: lease.wanted(at: now),
            life: lease.policy.reckonedLife)
        return Preparation(charge: charge, reservation: reservation, line: line)
    }

    /// Records the result of a preparation.
    /// - Parameters:
    ///   - line: the store's grant; nil if the lease sufficed and the store got no request.
    ///   - requests: the number of admitted requests.
    mutating func settle(
        _ preparation: Preparation, with line: TokenGrant.Line?, requests: Int, nodes: Int, moment: Moment
    ) {
        let paid = min(requests, line?.requests ?? requests) * preparation.charge.cost
        if let reservation = preparation.reservation {
            lease?.putBack(max(0, reservation.count - paid), of: reservation, at: moment.now)
        }
        if paid > 0 { record(paid, nodes: nodes, at: moment.now) }
        guard let line else { return }
        lease?.receive(line.inAdvance, requestedAt: moment.requestedAt, at: moment.now)
        seen = TokenBucket(
            preparation.charge.bucket.policy.tokenBucket, timeUntilFull: line.timeUntilFull, at: moment.requestedAt)
        guard !isCommon else { return }
        // The bucket has no tokens earlier, unless it is emptied from outside: so the store is called again after a
        // while.
        let wait = min(line.timeUntilNext, FleetRateLimiter.Limits.memory)
        refusal = wait > .zero ? Refusal(cost: preparation.charge.cost, until: moment.requestedAt + wait) : nil
    }

    /// Returns the reserved tokens.
    mutating func abandon(_ preparation: Preparation, at now: Instant) {
        guard let reservation = preparation.reservation else { return }
        lease?.putBack(reservation.count, of: reservation, at: now)
    }

    /// Returns the state of the bucket for an answer.
    func outcome(
        _ charge: RateCharge, _ decision: BucketDecision, nodes: Int, at now: Instant
    ) -> RateAdmission.Outcome {
        let isLocal = decision.source == .localShare
        let left = seen.remaining(at: now) + (lease?.tokens(at: now) ?? 0)
        return RateAdmission.Outcome(
            charge: charge, decision: decision.decision,
            remaining: isLocal ? share.remaining(nodes: nodes, at: now) : left,
            timeUntilFull: isLocal ? share.timeUntilFull(at: now) : seen.timeUntilFull(at: now),
            source: decision.source)
    }

    private mutating func record(_ tokens: Int, nodes: Int, at now: Instant) {
        share.record(tokens, nodes: nodes, at: now)
        lease?.recordSpending(tokens, at: now)
    }

    /// The part of one bucket in a request to the store.
    struct Preparation: Sendable {
        let charge: RateCharge
        /// The tokens reserved from the lease.
        let reservation: TokenLease.Reservation?
        /// The line of the request to the store; nil for none.
        let line: TokenRequest.Line?
    }

    /// The times of a request to the store and of its reply.
    struct Moment: Sendable {
        let requestedAt: Instant
        let now: Instant
    }
}
