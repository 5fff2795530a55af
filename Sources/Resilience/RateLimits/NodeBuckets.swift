// SPDX-License-Identifier: Apache-2.0

/// The state of all buckets, as one node knows it, and the decisions by it.
package struct NodeBuckets: Sendable {
    private var buckets: BucketTable<NodeBucket>

    package init(maximumBuckets: Int) { buckets = BucketTable(maximumCount: maximumBuckets) }

    /// Decides by leased tokens and remembered refusals; nil if only the store can decide.
    package mutating func decide(_ charges: [RateCharge], nodes: Int, at now: Instant) -> RateAdmission? {
        let locations = locations(of: charges, at: now)
        let decisions = charges.indices.map { buckets[locations[$0]].decideLocally(charges[$0], at: now) }
        let isRefused = zip(charges, decisions).contains { $0.isRefused(by: $1?.decision) }
        guard isRefused || decisions.allSatisfy({ $0 != nil }) else { return nil }
        let known = decisions.map { $0 ?? BucketDecision(decision: .admitted, source: .rememberedRefusal) }
        if !isRefused {
            for (index, decision) in known.enumerated() where !decision.decision.isRefusal {
                buckets[locations[index]].spend(charges[index].cost, nodes: nodes, at: now)
            }
        }
        return admission(charges, known, at: locations, nodes: nodes, at: now)
    }

    /// Returns the refusal that these charges will get; nil if they may be admitted. Takes nothing.
    mutating func knownRefusal(of charges: [RateCharge], nodes: Int, at now: Instant) -> RateAdmission? {
        let isRefused = charges.contains { charge in
            charge.isRefused(by: buckets.value(of: charge.bucket)?.decideLocally(charge, at: now)?.decision)
        }
        return isRefused ? decide(charges, nodes: nodes, at: now) : nil
    }

    package mutating func decideAlone(_ charges: [RateCharge], nodes: Int, at now: Instant) -> RateAdmission {
        let locations = locations(of: charges, at: now)
        let decisions = buckets.takeAll(charges, at: locations) { $0.decideAlone($1, nodes: nodes, at: now) }
        return admission(charges, decisions, at: locations, nodes: nodes, at: now)
    }

    package struct Batch: Sendable {
        let charges: [RateCharge]
        let requests: Int
        fileprivate let preparations: [NodeBucket.Preparation]
        package let order: TokenRequest

        /// Returns the grant's line for each charge; nil where nothing was requested.
        func lines(of delivery: TokenGrant) -> [TokenGrant.Line?] {
            var rest = delivery.lines[...]
            return preparations.map { $0.line == nil ? nil : rest.popFirst() }
        }
    }

    package mutating func prepare(_ charges: [RateCharge], requests: Int, at now: Instant) -> Batch {
        let locations = locations(of: charges, at: now)
        let preparations = charges.indices.map {
            buckets[locations[$0]].prepare(charges[$0], requests: requests, at: now)
        }
        return Batch(
            charges: charges, requests: requests, preparations: preparations,
            order: TokenRequest(requests: requests, lines: preparations.compactMap(\.line)))
    }

    /// Records the store's grant.
    /// - Parameter requestedAt: the time of the request to the store.
    /// - Returns: the decision about each request.
    package mutating func settle(
        _ batch: Batch, with delivery: TokenGrant, nodes: Int, requestedAt: Instant, at now: Instant
    ) -> [RateAdmission] {
        let locations = locations(of: batch.charges, at: now)
        let lines = batch.lines(of: delivery)
        for index in batch.charges.indices {
            buckets[locations[index]].settle(
                batch.preparations[index], with: lines[index], requests: delivery.admitted, nodes: nodes,
                requestedAt: requestedAt, at: now)
        }
        return (0..<batch.requests).map { number in
            let decisions = lines.map { Self.decision(by: $0, on: number) }
            return admission(batch.charges, decisions, at: locations, nodes: nodes, at: now)
        }
    }

    private static func decision(by line: TokenGrant.Line?, on request: Int) -> BucketDecision {
        guard let line else { return BucketDecision(decision: .admitted, source: .lease) }
        let isAdmitted = request < line.requests
        return BucketDecision(
            decision: isAdmitted ? .admitted : .refused(retryAfter: line.timeUntilNext), source: .store)
    }

    /// Returns the reserved tokens of a batch that did not reach the store.
    package mutating func abandon(_ batch: Batch, at now: Instant) {
        let locations = locations(of: batch.charges, at: now)
        for index in batch.charges.indices { buckets[locations[index]].abandon(batch.preparations[index], at: now) }
    }

    private mutating func locations(of charges: [RateCharge], at now: Instant) -> [BucketTable<NodeBucket>.Location] {
        buckets.locations(of: charges) {
            $0.isEmpty(at: now)
        } make: {
            NodeBucket($0, isCommon: $1)
        }
    }

    private func admission(
        _ charges: [RateCharge], _ decisions: [BucketDecision], at locations: [BucketTable<NodeBucket>.Location],
        nodes: Int, at now: Instant
    ) -> RateAdmission {
        RateAdmission(
            outcomes: charges.indices.map {
                buckets[locations[$0]].outcome(charges[$0], decisions[$0], nodes: nodes, at: now)
            })
    }
}

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
        _ preparation: Preparation, with line: TokenGrant.Line?, requests: Int, nodes: Int, requestedAt: Instant,
        at now: Instant
    ) {
        let paid = min(requests, line?.requests ?? requests) * preparation.charge.cost
        if let reservation = preparation.reservation {
            lease?.putBack(max(0, reservation.count - paid), of: reservation, at: now)
        }
        if paid > 0 { record(paid, nodes: nodes, at: now) }
        guard let line else { return }
        lease?.receive(line.inAdvance, requestedAt: requestedAt, at: now)
        let bucket = preparation.charge.bucket.policy.tokenBucket
        seen = TokenBucket(bucket, timeUntilFull: line.timeUntilFull, at: requestedAt)
        guard !isCommon else { return }
        // The bucket has no tokens earlier, unless it is emptied from outside: so the store is called again after a
        // while.
        let wait = min(line.timeUntilNext, FleetRateLimiter.Limits.memory)
        refusal = wait > .zero ? Refusal(cost: preparation.charge.cost, until: requestedAt + wait) : nil
    }

    /// Returns the reserved tokens.
    mutating func abandon(_ preparation: Preparation, at now: Instant) {
        guard let reservation = preparation.reservation else { return }
        lease?.putBack(reservation.count, of: reservation, at: now)
    }

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

    struct Preparation: Sendable {
        let charge: RateCharge
        let reservation: TokenLease.Reservation?
        let line: TokenRequest.Line?
    }
}
