// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Resilience

/// One client with a limit in front of a fleet: every request, one at a time.
struct LimitSimulation {
    let nodes: Int
    let seed: UInt64

    func run(_ plan: LimitCase) -> LimitOutcome {
        let start = Instant.now
        var fleet = LimitedFleet(plan.policy, nodes: nodes, seed: seed, fault: plan.fault)
        var randomness = SplitMix64(seed: seed, purpose: "\(plan.limitName) \(plan.load) \(plan.spread)")
        var lost = LossWindow(plan.loss)
        for seconds in ClientArrivals(plan, using: SplitMix64(seed: randomness.next())) {
            let now = start + .nanoseconds(Int64(seconds * 1e9))
            lost.update(&fleet, at: now, since: start)
            fleet.receive(by: plan.spread.node(of: nodes, using: &randomness), at: now)
        }
        fleet.deliver(upTo: start + .seconds(plan.span + 1))
        return LimitOutcome(
            plan: plan, counts: fleet.counts, allowed: fleet.ledger.allowed(in: plan.span),
            worstShare: fleet.ledger.worstShare, admittedInLoss: lost.admitted)
    }
}

/// The outcome of one client's requests.
struct LimitOutcome: Hashable, Sendable {
    let plan: LimitCase
    let counts: LimitCounts
    /// The tokens that the limit allows in the whole time.
    let allowed: Double
    /// The worst burst of any window as a share of the allowed burst.
    let worstShare: Double
    /// The requests admitted while Redis was lost.
    let admittedInLoss: Int

    enum Limits {
        /// The tolerance of the check: 1 %.
        static let excess = 0.01
    }

    var admittedShare: Double { Double(counts.admitted) / allowed }
    var commandsPerRequest: Double { Double(counts.storeRequests) / Double(max(1, counts.requests)) }

    /// The admitted requests during the loss as a share of the tokens that arrive in it.
    var shareInLoss: Double {
        let span = plan.loss.map { $0.upperBound - $0.lowerBound } ?? 0
        return span > 0 ? Double(admittedInLoss) * plan.policy.tokenBucket.emissionInterval.seconds / span : 0
    }

    /// The burst that is allowed, as a share of the limit's. Each change between Redis and the nodes' shares may admit
    /// one burst more, and a full share admits one request however small it is (`FairShare`).
    func allowedBurst(nodes: Int) -> Double {
        guard plan.loss != nil else { return 1 }
        return 2 + max(1, Double(nodes) / Double(plan.policy.burst))
    }

    func isKept(nodes: Int) -> Bool {
        worstShare <= allowedBurst(nodes: nodes) + Limits.excess && (plan.loss != nil || isKeptInTotal)
    }

    private var isKeptInTotal: Bool { admittedShare <= 1 + Limits.excess }
}

/// The times of a client's requests in seconds: independent of each other at the load's present rate.
private struct ClientArrivals: Sequence, IteratorProtocol {
    private let plan: LimitCase
    private var randomness: SplitMix64
    private var time = 0.0

    init(_ plan: LimitCase, using randomness: SplitMix64) { (self.plan, self.randomness) = (plan, randomness) }

    mutating func next() -> Double? {
        let factor = plan.load.factor(at: position / plan.cycle)
        time += randomness.gap(mean: plan.policy.tokenBucket.emissionInterval.seconds / factor)
        // Requests of a silence come at its end.
        if plan.silence.contains(position) { time += plan.silence.upperBound - position }
        return time < plan.span ? time : nil
    }

    /// The seconds since the present cycle began.
    private var position: Double { time.truncatingRemainder(dividingBy: plan.cycle) }
}

/// The time in which Redis is lost to a client.
private struct LossWindow {
    private let range: Range<Double>?
    private var admittedBefore = 0
    private(set) var admitted = 0

    init(_ range: Range<Double>?) { self.range = range }

    mutating func update(_ fleet: inout LimitedFleet, at now: Instant, since start: Instant) {
        guard let range else { return }
        let isLost = range.contains(start.duration(to: now).seconds)
        guard isLost != fleet.isStoreLost else { return }
        fleet.deliver(upTo: now)
        fleet.isStoreLost = isLost
        if isLost { admittedBefore = fleet.counts.admitted } else { admitted = fleet.counts.admitted - admittedBefore }
    }
}
