// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The results of `simulate`.
struct SimulationReport: Hashable, Sendable, Encodable {
    let nodes: Int
    let hours: Double
    let requestsPerSecond: Double
    let shards: Int
    let seed: UInt64
    /// The parts that were simulated instead of the whole, and the assumptions.
    let samples: [String]
    let limits: [Limit]
    let limitsInLoss: [LimitInLoss]
    let redis: RedisLoad
    let calls: Calls
    let losses: [LossEffects]
    let outages: [Outage]
    /// The broken promises; none if the run passed.
    let problems: [String]

    var passed: Bool { problems.isEmpty }

    /// A limit under a load. Shares are of what the limit allows.
    struct Limit: Hashable, Sendable, Encodable {
        let limit: String
        let load: String
        let spread: String
        let seconds: Double
        let requests: Int
        let admitted: Int
        let admittedShare: Double
        /// The largest burst in any window, as a share of the allowed burst.
        let worstBurst: Double
        let leasedShare: Double
        let commandsPerRequest: Double
        let isKept: Bool
    }

    /// A limit of a client with half more requests, whose shard is lost.
    struct LimitInLoss: Hashable, Sendable, Encodable {
        let limit: String
        let spread: String
        /// The admitted share of the tokens that arrive in the loss.
        let admittedShare: Double
        /// Both as multiples of the limit's burst.
        let worstBurst: Double
        let allowedBurst: Double
        let isKept: Bool
    }

    /// The calls to Apple for one app, and the answers of all its requests.
    struct Calls: Hashable, Sendable, Encodable {
        let customers: Int
        let apps: Double
        let requests: Int
        let total: Int
        /// Of one operation.
        let peakPerSecond: Int
        let peakPerHour: Int
        let budgetPerHour: Int
        let perSecondOfFleet: Double
        let sharedHits: Double
        let nearHits: Double
        /// If each customer's requests reached one node.
        let nearHitsIfRouted: Double
        let degraded: Double
    }

    struct Outage: Hashable, Sendable, Encodable {
        let fault: String
        let callsPerSecondOfNode: Double
        let simulatedNodes: Int
        let openedNodes: Int
        /// Of one node, on average.
        let openings: Double
        let wanted: Double
        let sent: Double
        let probes: Double
        let needlessOpenings: Int
        let recoverySeconds: Double
    }
}

extension SimulationReport {
    init(_ outcome: SimulationOutcome, _ plan: SimulationPlan) {
        (nodes, hours, shards, seed) = (plan.nodes, plan.seconds / 3600, plan.shards, plan.seed)
        requestsPerSecond = plan.rate
        samples = Self.samples(outcome, plan)
        let whole = outcome.limits.filter { $0.plan.loss == nil }
        limits = whole.map { Limit($0, nodes: plan.nodes) }
        limitsInLoss = outcome.limits.filter { $0.plan.loss != nil }.map { LimitInLoss($0, nodes: plan.nodes) }
        let busiest = whole.filter { $0.plan.load == .below }.map(\.commandsPerRequest).max() ?? 1
        redis = RedisLoad(plan, outcome.customers, bucketPerRequest: busiest)
        calls = Calls(outcome.customers, plan)
        losses = outcome.losses
        outages = outcome.outages.map { Outage($0) }
        problems = Self.problems(outcome, plan)
    }

    private static func problems(_ outcome: SimulationOutcome, _ plan: SimulationPlan) -> [String] {
        let limits = outcome.limits.filter { !$0.isKept(nodes: plan.nodes) }.map { outcome in
            let loss = outcome.plan.loss == nil ? "" : ", shard lost"
            return "the limit \(outcome.plan.limitName) was not kept (\(outcome.plan.load), \(outcome.plan.spread)"
                + "\(loss)): \(outcome.admittedShare.percentText) of the whole, worst burst "
                + outcome.worstShare.percentText
        }
        let hours = [outcome.customers.peakCallsPerHour] + outcome.losses.map(\.peakCallsPerHour)
        let calls = hours.filter { $0 > SimulatedBudget.callsPerHour }.map {
            "an hour had \($0.grouped) calls of one operation, budget \(SimulatedBudget.callsPerHour.grouped)"
        }
        return limits + calls
    }

    private static func samples(_ outcome: SimulationOutcome, _ plan: SimulationPlan) -> [String] {
        [
            "Limits: \(outcome.limits.count) clients, every request. Limits above 600,000 tokens a day are simulated "
                + "until so many have arrived.",
            "Calls to Apple: one app with \(plan.customers.grouped) customers, every request and call: "
                + "\(CustomerTraffic.sessionsPerDay.plain) sessions of \(CustomerTraffic.requestsPerSession) requests a "
                + "day for each. The fleet has \(plan.apps.significant) such apps; each has a budget of its own.",
            "Without Redis, only the node that answered last about a customer has a copy of the answer.",
            "Redis: the commands of that app, multiplied by the apps; and the token bucket of a client that is below "
                + "its limit.",
            "Outages of Apple: the nodes in the table, every call.",
        ]
    }
}

extension SimulationReport.Limit {
    init(_ outcome: LimitOutcome, nodes: Int) {
        let counts = outcome.counts
        (limit, load, spread) = (outcome.plan.limitName, outcome.plan.load.rawValue, outcome.plan.spread.rawValue)
        (seconds, requests, admitted) = (outcome.plan.span, counts.requests, counts.admitted)
        admittedShare = outcome.admittedShare.rounded(toDecimals: 5)
        worstBurst = outcome.worstShare.rounded(toDecimals: 5)
        leasedShare = (Double(counts.leased) / Double(max(1, counts.requests))).rounded(toDecimals: 4)
        commandsPerRequest = outcome.commandsPerRequest.rounded(toDecimals: 3)
        isKept = outcome.isKept(nodes: nodes)
    }
}

extension SimulationReport.LimitInLoss {
    init(_ outcome: LimitOutcome, nodes: Int) {
        (limit, spread) = (outcome.plan.limitName, outcome.plan.spread.rawValue)
        admittedShare = outcome.shareInLoss.rounded(toDecimals: 4)
        worstBurst = outcome.worstShare.rounded(toDecimals: 3)
        allowedBurst = outcome.allowedBurst(nodes: nodes).rounded(toDecimals: 3)
        isKept = outcome.isKept(nodes: nodes)
    }
}

extension SimulationReport.Calls {
    init(_ outcome: CustomerOutcome, _ plan: SimulationPlan) {
        (customers, requests, total) = (plan.customers, outcome.requestCount, outcome.callCount)
        apps = plan.apps.rounded(toDecimals: 1)
        (peakPerSecond, peakPerHour) = (outcome.peakCallsPerSecond, outcome.peakCallsPerHour)
        budgetPerHour = SimulatedBudget.callsPerHour
        perSecondOfFleet = (Double(outcome.callCount) / plan.seconds * plan.apps).rounded(toDecimals: 1)
        sharedHits = outcome.share(of: .shared).rounded(toDecimals: 4)
        nearHits = outcome.share(of: .near).rounded(toDecimals: 4)
        nearHitsIfRouted = (Double(outcome.nearIfRouted) / Double(max(1, outcome.requestCount))).rounded(toDecimals: 4)
        degraded = outcome.share(of: .degraded).rounded(toDecimals: 4)
    }
}

extension SimulationReport.Outage {
    init(_ outcome: OutageOutcome) {
        let count = Double(outcome.plan.nodes)
        func perNode(_ number: Int) -> Double { (Double(number) / count).rounded(toDecimals: 2) }
        (fault, simulatedNodes) = (outcome.plan.fault.rawValue, outcome.plan.nodes)
        callsPerSecondOfNode = outcome.plan.callsPerSecond.rounded(toDecimals: 4)
        (openedNodes, needlessOpenings) = (outcome.openedNodes, outcome.needlessOpenings)
        (openings, wanted) = (perNode(outcome.openings), perNode(outcome.wanted))
        (sent, probes) = (perNode(outcome.sent), perNode(outcome.probes))
        recoverySeconds = outcome.recoverySeconds.rounded(toDecimals: 1)
    }
}
