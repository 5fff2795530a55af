// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReceiptForge

@testable import Gateway
@testable import Resilience

/// The nodes of a fleet that share one token bucket in Redis. The gateway's `NodeBuckets` decide, over a Redis that
/// answers at once.
struct LimitedFleet {
    private let charges: [RateCharge]
    private let liveNodes: Int
    private var nodes: [NodeBuckets]
    private var store: [RateBucket: Instant] = [:]
    /// The script calls to Redis.
    private(set) var commands = 0
    /// True while Redis does not answer. It comes back empty.
    var isStoreLost = false {
        didSet { if isStoreLost { store = [:] } }
    }

    /// - Parameter liveNodes: the number of live nodes, as each node knows it.
    init(_ policy: RatePolicy, nodes count: Int, liveNodes: Int? = nil) {
        charges = [RateCharge(RateBucket(client: "client", policy: policy))]
        self.liveNodes = liveNodes ?? count
        nodes = Array(repeating: NodeBuckets(maximumBuckets: 16), count: count)
    }

    /// Decides about a request that reaches a node. Times do not go back.
    mutating func admits(by node: Int, at now: Instant) -> Bool {
        if let known = nodes[node].decide(charges, nodes: liveNodes, at: now) { return known.isAdmitted }
        guard !isStoreLost else { return nodes[node].decideAlone(charges, nodes: liveNodes, at: now).isAdmitted }
        let batch = nodes[node].prepare(charges, requests: 1, at: now)
        commands += 1
        let grant = ModelBuckets.carryOut(batch.order, on: &store, at: now)
        return nodes[node].settle(batch, with: grant, nodes: liveNodes, requestedAt: now, at: now)[0].isAdmitted
    }
}

/// A client with one limit, its requests, and their way into the fleet.
struct LimitedClient {
    /// The requests of the client, compared with its limit.
    enum Load: CaseIterable {
        /// Steadily seven tenths of the limit, and half more than the limit.
        case below, above
        /// Nine tenths of the limit, a silence, and eight times the limit for a tenth of the time: the bucket fills while
        /// the nodes hold tokens in advance, and then all are spent at once.
        case bursts
    }

    /// The nodes that the client reaches.
    enum Spread: CaseIterable {
        /// All nodes alike, as behind a load balancer that takes turns.
        case even
        /// All nodes, the k-th 1/k as often as the first.
        case uneven
        /// A hundredth of the nodes, unevenly: a client with few long connections.
        case few
    }

    let policy: RatePolicy
    let load: Load
    let spread: Spread
    /// The simulated time in seconds, and the part of it in which Redis does not answer.
    var seconds: Double
    var loss: Range<Double> = 0..<0

    struct Outcome {
        var ledger: Ledger
        var requests = 0, admittedInLoss = 0, commands = 0
    }

    /// The seconds in which one token arrives.
    var interval: Double { policy.tokenBucket.emissionInterval.seconds }

    func run(nodes count: Int, liveNodes: Int? = nil) -> Outcome {
        let start = Instant.now, cycle = min(3600, 20 * policy.tokenBucket.timeToFill.seconds)
        // Half the life of tokens taken in advance. Its requests come at its end.
        let life = load == .bursts ? TokenLease.Policy(for: policy.tokenBucket)?.life.seconds ?? 0 : 0
        var fleet = LimitedFleet(policy, nodes: count, liveNodes: liveNodes)
        var dice = SplitMix64(seed: 1, purpose: "\(policy.quota) \(load) \(spread)")
        var outcome = Outcome(ledger: Ledger(policy)), time = 0.0
        while true {
            let isBurst = time.truncatingRemainder(dividingBy: cycle) >= 0.9 * cycle
            let factor = load == .below ? 0.7 : load == .above ? 1.5 : isBurst ? 8 : 0.9
            time += dice.gap(mean: interval / factor)
            let silent = time.truncatingRemainder(dividingBy: cycle) - 0.9 * cycle
            if (0..<life / 2).contains(silent) { time += life / 2 - silent }
            guard time < seconds else { break }
            if fleet.isStoreLost != loss.contains(time) { fleet.isStoreLost.toggle() }
            let now = start + .seconds(time)
            outcome.requests += 1
            let reached = spread == .few ? max(1, count / 100) : count
            let node = spread == .even ? dice.index(below: reached) : dice.unevenIndex(below: reached)
            guard fleet.admits(by: node, at: now) else { continue }
            outcome.ledger.record(1, at: now)
            if fleet.isStoreLost { outcome.admittedInLoss += 1 }
        }
        outcome.commands = fleet.commands
        return outcome
    }
}

/// One app's customers in front of a fleet: the cache of Apple's answers, and the calls to Apple within the budget.
/// Customers open the app independently of each other, more by day than by night.
///
/// Each request reaches a random node. Left out, because they change little: the time that a call takes, the early
/// refresh of an answer, aliases, purges, histories of more than 20 transactions.
struct CustomerFleet {
    /// The keys that a lost shard of Redis holds, one of ten.
    enum Loss: CaseIterable {
        case nothing
        /// The shard's part of the customers' answers, and nothing else.
        case answers
        /// As `answers`, and the buckets of Apple's budget: the buckets of all apps are in one hash slot.
        case budget
        /// As `answers`, and the head of the purges, which every look-up reads.
        case purges
    }

    /// The answers of ten minutes.
    struct Period {
        var requests = 0, hits = 0, refreshes = 0
        /// The answers from the signed data alone: the budget was used up.
        var degraded = 0
        /// The near-cache hits if each customer's requests reached one node.
        var nearIfRouted = 0
    }

    private struct Customer {
        var freshUntil = -Double.infinity
        /// The node that answered last, with the end of its near cache's entry, and of the copy that serves without Redis.
        var node = -1
        var nearUntil = -Double.infinity
        var copyUntil = -Double.infinity
        var routedUntil = -Double.infinity
    }

    /// The period in which a shard is lost: ten minutes from noon. It comes back empty.
    static let lossPeriod = 72
    static let periods = 144
    /// The times at which a customer opens the app on a day on average, and the requests while it is open.
    private static let sessionsPerDay = 3.0, requestsPerSession = 4
    private static let secondsBetweenRequests = 60.0
    /// The share by which the busiest moment, at noon, exceeds the mean of the day.
    private static let dayAmplitude = 0.8

    private let nodes: Int
    private let loss: Loss
    private let freshness = FreshnessPolicy()
    private var customers: [Customer]
    /// Apple's budget for each of the two operations of a refresh.
    private var budgets: [LimitedFleet]
    private var dice = SplitMix64(seed: 1, purpose: "nodes")
    private let start = Instant.now
    private var isLost = false
    private(set) var day = Array(repeating: Period(), count: Self.periods)
    /// The fresh answers in Redis when the shard was lost, and the lost answers among them.
    private(set) var freshAnswers = 0, lostAnswers = 0

    init(nodes: Int, customers count: Int, budget: RatePolicy, losing loss: Loss) {
        (self.nodes, self.loss) = (nodes, loss)
        customers = Array(repeating: Customer(), count: count)
        budgets = Array(repeating: LimitedFleet(budget, nodes: nodes), count: 2)
    }

    func count(_ answers: KeyPath<Period, Int>, in periods: Range<Int> = 0..<periods) -> Int {
        day[periods].reduce(0) { $0 + $1[keyPath: answers] }
    }

    func share(_ answers: KeyPath<Period, Int>, in periods: Range<Int> = 0..<periods) -> Double {
        Double(count(answers, in: periods)) / Double(count(\.requests, in: periods))
    }

    /// Simulates a day.
    mutating func run() {
        var traffic = SplitMix64(seed: 1, purpose: "customers")
        var visits = Timeline<(customer: Int, remaining: Int)>(), nextSession = 0.0
        while nextSession < 86_400 {
            nextSession = timeOfSession(after: nextSession, using: &traffic)
            visits.add((traffic.index(below: customers.count), Self.requestsPerSession - 1), at: nextSession)
            while let (now, visit) = visits.popFirst(upTo: min(nextSession, 86_400.nextDown)) {
                receive(about: visit.customer, at: now)
                guard visit.remaining > 0 else { continue }
                visits.add(
                    (visit.customer, visit.remaining - 1), at: now + traffic.gap(mean: Self.secondsBetweenRequests))
            }
        }
    }

    /// Returns the time of the next session: draws times at the highest rate, and drops a part (thinning).
    private func timeOfSession(after seconds: Double, using dice: inout SplitMix64) -> Double {
        let highest = 1 + Self.dayAmplitude
        var time = seconds
        repeat {
            time += dice.gap(mean: 86_400 / (Double(customers.count) * Self.sessionsPerDay * highest))
        } while dice.fraction() * highest > 1 - Self.dayAmplitude * cos(2 * .pi * time / 86_400)
        return time
    }

    private mutating func receive(about index: Int, at now: Double) {
        let period = Int(now / 600)
        if isLost != (loss != .nothing && period == Self.lossPeriod) { toggleLoss(at: now) }
        day[period].requests += 1
        if now < customers[index].routedUntil {
            day[period].nearIfRouted += 1
        } else {
            customers[index].routedUntil = now + freshness.near.seconds
        }
        day[period][keyPath: answer(about: index, by: dice.index(below: nodes), at: now)] += 1
    }

    private mutating func answer(
        about index: Int, by node: Int, at now: Double
    ) -> WritableKeyPath<Period, Int> {
        let customer = customers[index]
        if customer.node == node, now < customer.nearUntil { return \.hits }
        // Without the head of the purges no answer of any shard may be used.
        let isDetached = isLost && (loss == .purges || isOnLostShard(index))
        if isDetached ? customer.node == node && now < customer.copyUntil : now < customer.freshUntil {
            if !isDetached { keep(index, node, now, until: customer.freshUntil) }
            return \.hits
        }
        let instant = start + .seconds(now)
        for operation in budgets.indices where !budgets[operation].admits(by: node, at: instant) {
            return \.degraded
        }
        let end = now + freshSpan(of: index)
        if !isDetached { customers[index].freshUntil = end }
        keep(index, node, now, until: end)
        return \.refreshes
    }

    private mutating func keep(_ index: Int, _ node: Int, _ now: Double, until end: Double) {
        customers[index].node = node
        customers[index].nearUntil = min(end, now + freshness.near.seconds)
        customers[index].copyUntil = end
    }

    /// Six of ten customers have an active subscription, two a subscription that ended long ago, two none.
    private func freshSpan(of index: Int) -> Double {
        let span = index % 10 < 6 ? freshness.active : freshness.longExpired
        return (index % 10 < 8 ? span : freshness.withoutSubscription).seconds
    }

    private func isOnLostShard(_ index: Int) -> Bool { index / 10 % 10 == 0 }

    /// Without the head a new history of purges begins, and answers of the old history are misses.
    private mutating func toggleLoss(at now: Double) {
        isLost.toggle()
        if loss == .budget { for operation in budgets.indices { budgets[operation].isStoreLost = isLost } }
        guard isLost else { return }
        for index in customers.indices where customers[index].freshUntil > now {
            freshAnswers += 1
            guard loss == .purges || isOnLostShard(index) else { continue }
            lostAnswers += 1
            customers[index].freshUntil = -.infinity
        }
    }
}

/// An outage of Apple as one node sees it: the gateway's `CircuitBreaker`, `ConcurrencyLimit` and `RetryBudget` in their
/// default settings, in the order of `UpstreamGuard`. Calls without a slot are rejected instead of waiting for a slot.
struct NodeInOutage {
    /// Apple's answer during the outage.
    enum Fault: CaseIterable {
        /// 503 after 50 ms.
        case serverError
        /// No answer until the deadline of 10 seconds.
        case timeout
    }

    private enum Event {
        /// A call that the node wants to make. Its successor is drawn when it comes.
        case wanted
        case retry(of: Instant)
        /// A call, whose first attempt was at a time.
        case ended(Instant, isRetry: Bool, ConcurrencyLimit.Slot, CircuitBreaker.Permit, Resilience.Outcome)
    }

    /// Half an hour, after ten minutes and before ten minutes.
    static let outage = 600.0..<2400.0
    /// Apple's usual time for a call, its time until a 503, and `UpstreamTimeouts.deadline`.
    private static let usual: Duration = .milliseconds(300), serverError: Duration = .milliseconds(50)
    private static let deadline: Duration = .seconds(10)
    /// The share of calls that fail without an outage.
    private static let usualFailures = 0.002

    let fault: Fault
    let callsPerSecond: Double
    private let start = Instant.now
    private var dice: SplitMix64
    private var breaker = CircuitBreaker()
    private var limit = ConcurrencyLimit()
    private var retries = RetryBudget()
    private var events = Timeline<Event>()
    /// The calls that the node wanted to make in the outage, the calls that it sent, and the tests of recovery among them.
    private(set) var wanted = 0, sent = 0, probes = 0
    /// The openings of the breaker, and the openings before the outage.
    private(set) var openings = 0, needlessOpenings = 0
    /// The seconds from Apple's return until the breaker closed.
    private(set) var recovery = 0.0

    init(_ number: Int, fault: Fault, callsPerSecond: Double) {
        (self.fault, self.callsPerSecond) = (fault, callsPerSecond)
        dice = SplitMix64(seed: 1, purpose: "outage \(number)")
    }

    mutating func run() {
        scheduleNext(after: 0)
        while let (seconds, event) = events.popFirst(upTo: Self.outage.upperBound + 600) {
            let isOut = Self.outage.contains(seconds), now = start + .seconds(seconds)
            switch event {
            case .wanted:
                if isOut { wanted += 1 }
                scheduleNext(after: seconds)
                send(now, isRetry: false, at: now, seconds, isOut: isOut)
            case .retry(let first): send(first, isRetry: true, at: now, seconds, isOut: isOut)
            case .ended(let first, let isRetry, let slot, let permit, let result):
                limit.release(slot, result)
                breaker.record(result, of: permit, at: now, using: &dice)
                count(breaker.takeTransitions(), at: seconds)
                guard case .failure = result, !isRetry,
                    let delay = retries.delay(
                        from: first, until: first + Self.deadline, at: now, using: &dice)
                else { continue }
                events.add(.retry(of: first), at: seconds + delay.seconds)
            }
        }
    }

    private mutating func scheduleNext(after seconds: Double) {
        events.add(.wanted, at: seconds + dice.gap(mean: 1 / callsPerSecond))
    }

    private mutating func send(_ first: Instant, isRetry: Bool, at now: Instant, _ seconds: Double, isOut: Bool) {
        if case .open(let end?) = breaker.state, now < end { return }
        guard let slot = limit.acquire() else { return }
        guard case .call(let permit) = breaker.permit(at: now) else { return limit.release(slot, .neutral) }
        if isOut { (sent, probes) = (sent + 1, probes + (breaker.state == .halfOpen ? 1 : 0)) }
        if !isRetry { retries.recordCall(at: now) }
        let isFailure = dice.fraction() < Self.usualFailures
        let (result, took): (Resilience.Outcome, Duration) =
            if isOut, fault == .timeout {
                (.failure(.hard, took: Self.deadline), Self.deadline)
            } else if isOut || isFailure {
                (.failure(.soft, took: Self.serverError), Self.serverError)
            } else {
                (.success(took: Self.usual), Self.usual)
            }
        events.add(.ended(first, isRetry: isRetry, slot, permit, result), at: seconds + took.seconds)
    }

    private mutating func count(_ transitions: [CircuitBreaker.Transition: Int], at seconds: Double) {
        openings += (transitions[.trip] ?? 0) + (transitions[.reopen] ?? 0)
        if seconds < Self.outage.lowerBound { needlessOpenings += transitions[.trip] ?? 0 }
        if transitions[.close] != nil { recovery = max(0, seconds - Self.outage.upperBound) }
    }
}

/// The future events of a simulation by their times in seconds.
struct Timeline<Event> {
    /// The latest first.
    private var entries: [(seconds: Double, event: Event)] = []

    mutating func add(_ event: Event, at seconds: Double) {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].seconds > seconds { low = middle + 1 } else { high = middle }
        }
        entries.insert((seconds, event), at: low)
    }

    /// Removes the next event, unless it is later than `limit`.
    mutating func popFirst(upTo limit: Double) -> (seconds: Double, event: Event)? {
        guard let next = entries.last, next.seconds <= limit else { return nil }
        return entries.removeLast()
    }
}

extension SplitMix64 {
    /// Returns a whole number from 0 to below `count`.
    mutating func index(below count: Int) -> Int { min(count - 1, Int(fraction() * Double(count))) }

    /// Returns the time to the next of independent events, in the unit of `mean`.
    mutating func gap(mean: Double) -> Double { -log(1 - fraction()) * mean }

    /// Returns a whole number from 0 to below `count`; the k-th is drawn about 1/k as often as the first (Zipf).
    mutating func unevenIndex(below count: Int) -> Int {
        min(count - 1, Int(pow(Double(count + 1), fraction())) - 1)
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
}
