// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// The state of all buckets, as one node knows it, and the decisions by it.
struct NodeBuckets: Sendable {
    private var buckets: BucketTable<NodeBucket>

    init(maximumBuckets: Int) { buckets = BucketTable(maximumCount: maximumBuckets) }

    /// Decides by leased tokens and remembered refusals; nil if only the store can decide.
    mutating func decide(_ charges: [RateCharge], nodes: Int, at now: Instant) -> RateAdmission? {
        let locations = locations(of: charges, at: now)
        let decisions = charges.indices.map { buckets[locations[$0]].decideLocally(charges[$0], at: now) }
        let isRefused = charges.indices.contains {
            !charges[$0].bucket.policy.isShadow && decisions[$0]?.decision.isRefusal == true
        }
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
            !charge.bucket.policy.isShadow
                && buckets.value(of: charge.bucket)?.decideLocally(charge, at: now)?.decision.isRefusal == true
        }
        return isRefused ? decide(charges, nodes: nodes, at: now) : nil
    }

    /// Decides by the policies' rules for an unavailable store.
    mutating func decideAlone(_ charges: [RateCharge], nodes: Int, at now: Instant) -> RateAdmission {
        let locations = locations(of: charges, at: now)
        let decisions = buckets.takeAll(charges, at: locations) { $0.decideAlone($1, nodes: nodes, at: now) }
        return admission(charges, decisions, at: locations, nodes: nodes, at: now)
    }

    /// A batch of equal requests, decided by one request to the store.
    struct Batch: Sendable {
        let charges: [RateCharge]
        let requests: Int
        fileprivate let preparations: [NodeBucket.Preparation]
        let order: TokenRequest

        /// Returns the grant's line for each charge; nil where nothing was requested.
        func lines(of delivery: TokenGrant) -> [TokenGrant.Line?] {
            var rest = delivery.lines[...]
            return preparations.map { $0.line == nil ? nil : rest.popFirst() }
        }
    }

    /// Prepares a batch of equal requests.
    mutating func prepare(_ charges: [RateCharge], requests: Int, at now: Instant) -> Batch {
        let locations = locations(of: charges, at: now)
        let preparations = charges.indices.map {
            buckets[locations[$0]].prepare(charges[$0], requests: requests, at: now)
        }
        return Batch(
            charges: charges, requests: requests, preparations: preparations,
            order: TokenRequest(requests: requests, lines: preparations.compactMap(\.line)))
    }

    /// Records the store's grant.
    /// - Returns: the decision about each request.
    mutating func settle(
        _ batch: Batch, with delivery: TokenGrant, nodes: Int, moment: NodeBucket.Moment
    ) -> [RateAdmission] {
        let locations = locations(of: batch.charges, at: moment.now)
        let lines = batch.lines(of: delivery)
        for index in batch.charges.indices {
            buckets[locations[index]].settle(
                batch.preparations[index], with: lines[index], requests: delivery.admitted, nodes: nodes,
                moment: moment)
        }
        return (0..<batch.requests).map { number in
            let decisions = lines.map { Self.decision(by: $0, on: number) }
            return admission(batch.charges, decisions, at: locations, nodes: nodes, at: moment.now)
        }
    }

    private static func decision(by line: TokenGrant.Line?, on request: Int) -> BucketDecision {
        guard let line else { return BucketDecision(decision: .admitted, source: .lease) }
        let isAdmitted = request < line.requests
        return BucketDecision(
            decision: isAdmitted ? .admitted : .refused(retryAfter: line.timeUntilNext), source: .store)
    }

    /// Returns the reserved tokens of a batch that did not reach the store.
    mutating func abandon(_ batch: Batch, at now: Instant) {
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
