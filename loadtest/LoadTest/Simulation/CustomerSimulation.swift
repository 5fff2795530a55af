// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Resilience

/// The keys that a lost shard of Redis holds.
enum LostShard: String, Hashable, Sendable, CaseIterable, Encodable {
    case none
    /// The shard's part of the customers' answers, and nothing else.
    case answers
    /// As `answers`, and the buckets of Apple's budget: the buckets of all apps are in one hash slot.
    case budget
    /// As `answers`, and the head of the purges, which every look-up reads.
    case purges
}

/// One app's customers in front of a fleet: the cache of Apple's answers, and the calls to Apple within the budget.
///
/// Each request reaches a random node. Left out, because they change little: the time that a call takes, the early
/// refresh of an answer, aliases, purges, histories of more than 20 transactions.
struct CustomerSimulation {
    /// The gateway's default settings, and the limits of its code, in seconds.
    enum Settings {
        /// `FreshnessPolicy.active`, `longExpired`, `withoutSubscription` and `near`.
        static let active = 600.0
        static let longExpired = 3600.0
        static let withoutSubscription = 86_400.0
        static let near = 30.0
        /// The commands of a look-up: the entry, its time to live, the head of the purges.
        static let lookUpCommands = 3
        /// The commands of a refresh beside its look-up and the budget: the lease, another look-up, `SET`, the release.
        static let refreshCommands = 6
        /// The customers of ten with an active subscription, and with a subscription that ended long ago. The rest have
        /// none.
        static let activeOfTen = 6
        static let longExpiredOfTen = 2
    }

    private struct Customer {
        var freshUntil = -Double.infinity
        /// The node that answered last, with the near cache's entry there.
        var nearNode: Int32 = -1
        var nearUntil = -Double.infinity
        /// The end of the near cache's entry in a fleet in which each customer's requests reach one node.
        var routedUntil = -Double.infinity
        /// The end of the freshness of that node's own copy, which serves without Redis.
        var copyUntil = -Double.infinity
    }

    let plan: SimulationPlan
    let lost: LostShard
    private var customers: [Customer]
    private var budget: SimulatedBudget
    private var randomness: SplitMix64
    private let start = Instant.now
    private(set) var outcome: CustomerOutcome
    private var isLost = false

    init(_ plan: SimulationPlan, losing lost: LostShard) {
        (self.plan, self.lost) = (plan, lost)
        customers = Array(repeating: Customer(), count: plan.customers)
        budget = SimulatedBudget(nodes: plan.nodes)
        randomness = SplitMix64(seed: plan.seed, purpose: "nodes")
        outcome = CustomerOutcome(seconds: Int(plan.seconds))
    }

    /// Simulates the whole time.
    mutating func run() -> CustomerOutcome {
        var traffic = CustomerTraffic(customers: plan.customers, seed: plan.seed)
        while true {
            let (seconds, customer) = traffic.next()
            guard seconds < plan.seconds else { break }
            updateLoss(at: seconds)
            let node = randomness.index(below: plan.nodes)
            let answer = receive(about: customer, by: node, at: seconds)
            outcome.add(answer, at: Int(seconds))
        }
        outcome.budgetCommands = budget.storeRequests
        return outcome
    }

    private mutating func receive(about index: Int, by node: Int, at now: Double) -> CustomerOutcome.Answer {
        if now < customers[index].routedUntil {
            outcome.nearIfRouted += 1
        } else {
            customers[index].routedUntil = now + Settings.near
        }
        if customers[index].nearNode == Int32(node), now < customers[index].nearUntil { return .near }
        return isStoreLost(for: index) ? detached(index, node, now) : shared(index, node, now)
    }

    /// Answers from Redis, or refreshes the answer for the fleet.
    private mutating func shared(_ index: Int, _ node: Int, _ now: Double) -> CustomerOutcome.Answer {
        outcome.cacheCommands += Settings.lookUpCommands
        if now < customers[index].freshUntil {
            keep(index, node, now, until: customers[index].freshUntil)
            return .shared
        }
        outcome.cacheCommands += Settings.refreshCommands
        guard call(by: node, at: now) else { return .degraded }
        customers[index].freshUntil = now + freshness(of: index)
        keep(index, node, now, until: customers[index].freshUntil)
        return .refreshed
    }

    /// Answers from the node's own copy, or refreshes the answer for this node alone.
    private mutating func detached(_ index: Int, _ node: Int, _ now: Double) -> CustomerOutcome.Answer {
        if customers[index].nearNode == Int32(node), now < customers[index].copyUntil { return .copy }
        guard call(by: node, at: now) else { return .degraded }
        keep(index, node, now, until: now + freshness(of: index))
        return .refreshed
    }

    private mutating func keep(_ index: Int, _ node: Int, _ now: Double, until end: Double) {
        customers[index].nearNode = Int32(node)
        customers[index].nearUntil = min(end, now + Settings.near)
        customers[index].copyUntil = end
    }

    /// Makes both calls of a refresh; false if the budget does not suffice.
    private mutating func call(by node: Int, at seconds: Double) -> Bool {
        let now = start + .nanoseconds(Int64(seconds * 1e9))
        for operation in SimulatedBudget.Operation.allCases {
            guard budget.take(operation, by: node, at: now) else { return false }
            outcome.addCall(operation, at: Int(seconds))
        }
        return true
    }

    private func freshness(of index: Int) -> Double {
        switch index % 10 {
        case ..<Settings.activeOfTen: Settings.active
        case ..<(Settings.activeOfTen + Settings.longExpiredOfTen): Settings.longExpired
        default: Settings.withoutSubscription
        }
    }
}

// MARK: - Losing a shard

extension CustomerSimulation {
    /// Returns true if the first shard, which is the lost shard, has the customer.
    private func isOnLostShard(_ index: Int) -> Bool { index / 10 % plan.shards == 0 }

    private func isStoreLost(for index: Int) -> Bool {
        // Without the head of the purges no answer of any shard may be used.
        isLost && (lost == .purges || isOnLostShard(index))
    }

    private mutating func updateLoss(at now: Double) {
        let isNowLost = lost != .none && plan.loss.contains(now)
        guard isNowLost != isLost else { return }
        isLost = isNowLost
        if isNowLost { loseAnswers() }
        if lost == .budget { budget.isStoreLost = isNowLost }
    }

    /// The shard comes back empty. Without the head a new history of purges begins, and answers of the old history are
    /// misses.
    private mutating func loseAnswers() {
        for index in customers.indices where customers[index].freshUntil > plan.loss.lowerBound {
            outcome.answersBeforeLoss += 1
            guard lost == .purges || isOnLostShard(index) else { continue }
            outcome.lostAnswers += 1
            customers[index].freshUntil = -.infinity
        }
    }
}
