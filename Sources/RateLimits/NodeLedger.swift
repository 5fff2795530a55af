// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// What one node knows of all buckets, and what it decides by it.
struct NodeLedger: Sendable {
    /// What becomes of a request.
    enum Decision: Sendable {
        case decided(RateAdmission)
        /// The store has to be asked.
        case ask
    }

    private typealias Ruling = BucketTable<NodeBucket>.Ruling
    private var buckets: BucketTable<NodeBucket>

    init(maximumBuckets: Int) {
        buckets = BucketTable(maximumCount: maximumBuckets)
    }

    /// Decides by what this node holds and remembers, if that is enough.
    mutating func decide(_ charges: [RateCharge], nodes: Int, at now: Instant) -> Decision {
        let places = places(of: charges, at: now)
        let judgements = charges.indices.map { buckets[places[$0]].judge(charges[$0], at: now) }
        let rulings = judgements.map(Self.ruling)
        let isRefused = charges.indices.contains {
            !charges[$0].bucket.policy.isShadow && rulings[$0]?.decision.isRefusal == true
        }
        guard isRefused || rulings.allSatisfy({ $0 != nil }) else { return .ask }
        let known = rulings.map { $0 ?? Ruling(decision: .admitted, source: .rememberedRefusal) }
        if !isRefused {
            for (index, ruling) in known.enumerated() where !ruling.decision.isRefusal {
                buckets[places[index]].spend(charges[index].cost, nodes: nodes, at: now)
            }
        }
        return .decided(admission(charges, known, at: places, nodes: nodes, at: now))
    }

    /// The refusal that these charges are known to get; nil if they may be admitted. Takes nothing.
    mutating func knownRefusal(of charges: [RateCharge], nodes: Int, at now: Instant) -> RateAdmission? {
        let isRefused = charges.contains { charge in
            guard !charge.bucket.policy.isShadow, let bucket = buckets.value(of: charge.bucket),
                case .refused = bucket.judge(charge, at: now)
            else { return false }
            return true
        }
        guard isRefused, case .decided(let refusal) = decide(charges, nodes: nodes, at: now) else { return nil }
        return refusal
    }

    private static func ruling(for judgement: NodeBucket.Judgement) -> Ruling? {
        switch judgement {
        case .leased: Ruling(decision: .admitted, source: .lease)
        case .refused(let wait): Ruling(decision: .refused(retryAfter: wait), source: .rememberedRefusal)
        case .unknown: nil
        }
    }

    /// Decides by the rules that the policies have for a store that cannot be asked.
    mutating func decideAlone(_ charges: [RateCharge], nodes: Int, at now: Instant) -> RateAdmission {
        let places = places(of: charges, at: now)
        let rulings = buckets.takeAll(charges, at: places) { $0.decideAlone($1, nodes: nodes, at: now) }
        return admission(charges, rulings, at: places, nodes: nodes, at: now)
    }

    // MARK: - Orders

    /// Some like requests on their way to the store and back.
    struct Errand: Sendable {
        let charges: [RateCharge]
        let requests: Int
        fileprivate let preparations: [NodeBucket.Preparation]
        /// What the store is asked for.
        let order: TokenOrder
    }

    /// Prepares to ask the store on behalf of some like requests.
    mutating func prepare(_ charges: [RateCharge], requests: Int, at now: Instant) -> Errand {
        let places = places(of: charges, at: now)
        let preparations = charges.indices.map {
            buckets[places[$0]].prepare(charges[$0], requests: requests, at: now)
        }
        return Errand(
            charges: charges, requests: requests, preparations: preparations,
            order: TokenOrder(requests: requests, lines: preparations.compactMap(\.line)))
    }

    /// Keeps what the store gave.
    /// - Returns: what became of each request.
    mutating func settle(
        _ errand: Errand, with delivery: TokenDelivery, nodes: Int, moment: NodeBucket.Moment
    ) -> [RateAdmission] {
        let places = places(of: errand.charges, at: moment.now)
        let lines = errand.lines(of: delivery)
        for index in errand.charges.indices {
            buckets[places[index]].settle(
                errand.preparations[index], with: lines[index], requests: delivery.admitted, nodes: nodes,
                moment: moment)
        }
        return (0..<errand.requests).map { number in
            let rulings = lines.map { Self.ruling(by: $0, on: number) }
            return admission(errand.charges, rulings, at: places, nodes: nodes, at: moment.now)
        }
    }

    private static func ruling(by line: TokenDelivery.Line?, on request: Int) -> Ruling {
        guard let line else { return Ruling(decision: .admitted, source: .lease) }
        let isAdmitted = request < line.requests
        return Ruling(
            decision: isAdmitted ? .admitted : .refused(retryAfter: line.timeUntilNext), source: .store)
    }

    /// Gives back what was put aside for requests that the store knows nothing of.
    mutating func abandon(_ errand: Errand, at now: Instant) {
        let places = places(of: errand.charges, at: now)
        for index in errand.charges.indices { buckets[places[index]].abandon(errand.preparations[index], at: now) }
    }

    // MARK: - Places

    private mutating func places(of charges: [RateCharge], at now: Instant) -> [BucketTable<NodeBucket>.Place] {
        buckets.places(of: charges) {
            $0.isEmpty(at: now)
        } make: {
            NodeBucket($0, isCommon: $1)
        }
    }

    private func admission(
        _ charges: [RateCharge], _ rulings: [Ruling], at places: [BucketTable<NodeBucket>.Place], nodes: Int,
        at now: Instant
    ) -> RateAdmission {
        RateAdmission(
            charges.indices.map { buckets[places[$0]].outcome(charges[$0], rulings[$0], nodes: nodes, at: now) })
    }
}

extension NodeLedger.Errand {
    /// The delivery's line for each charge; nil where nothing was asked for.
    fileprivate func lines(of delivery: TokenDelivery) -> [TokenDelivery.Line?] {
        var rest = delivery.lines[...]
        return preparations.map { $0.line == nil ? nil : rest.popFirst() }
    }
}
