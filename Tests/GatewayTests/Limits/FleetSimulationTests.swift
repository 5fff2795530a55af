// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Synchronization
import Testing
import TestSupport

@testable import Resilience

/// Simulates random nodes, clients and requests, and checks every time interval.
struct FleetSimulationTests {
    struct Setting: Sendable, CustomTestStringConvertible {
        let policy: RatePolicy
        let nodes: Int
        /// Requests for each new token.
        let load: Double

        var testDescription: String {
            "\(policy.quota)/\(policy.window) burst \(policy.burst), \(nodes) nodes, load \(load)"
        }
    }

    private static let policies = [
        RatePolicy(name: "a", quota: 200, window: .seconds(1)),
        RatePolicy(name: "b", quota: 1000, window: .seconds(1), burst: 200),
        RatePolicy(name: "c", quota: 100, window: .seconds(1), burst: 3000),
        RatePolicy(name: "d", quota: 7, window: .seconds(1)),
        RatePolicy(name: "e", quota: 100, window: .seconds(1), burst: 64),
    ]
    private static let settings = policies.flatMap { policy in
        [(1, 0.7), (3, 1.5), (5, 10)].map { Setting(policy: policy, nodes: $0.0, load: $0.1) }
    }

    @Test(arguments: settings, [true, false])
    func `no interval admits more than the burst and its new tokens`(
        setting: Setting, isLeased: Bool
    ) async {
        let policy = setting.policy.leased(isLeased)
        let run = await Simulation(policy, nodes: setting.nodes, seed: 0).run(load: setting.load)
        #expect(run.ledger.worstExcess <= .zero)
        #expect(run.ledger.total > 500 || !TestSeed.isOfCI)
        // The limits waste little: a fleet under full load admits nearly all new tokens.
        if setting.load > 1, TestSeed.isOfCI { #expect(run.share > 0.85) }
    }

    @Test func `without the rule for leases, some interval admits more`() async {
        let policy = Self.policies[2]
        let run = await Simulation(policy, nodes: 5, seed: 1, obeysRule: false).runBursts()
        #expect(run.worstExcess > .zero)
        #expect(await Simulation(policy, nodes: 5, seed: 1).runBursts().worstExcess <= .zero)
    }

    @Test func `while the store comes and goes, the fleet admits twice the limit at most`() async {
        for seed in 0..<10 as Range<UInt64> {
            let policy = RatePolicy(name: "f", quota: 200, window: .seconds(1))
            let run = await Simulation(policy, nodes: 3, seed: seed).run(load: 3, faults: true)
            // A bucket of twice the size that fills twice as fast is never exceeded.
            var twice = Ledger(RatePolicy(name: "g", quota: 400, window: .seconds(1), burst: 400))
            run.ledger.forEach { twice.record($1, at: $0) }
            #expect(twice.worstExcess <= .zero, "seed \(seed)")
        }
    }
}

private final class Simulation {
    private let clock = SteadyClock()
    private let buckets: ModelBuckets
    private let nodes: [FleetRateLimiter]
    private let policy: RatePolicy
    private var dice: SplitMix64
    private var ledger: Ledger

    init(_ policy: RatePolicy, nodes count: Int, seed: UInt64, obeysRule: Bool = true) {
        let (clock, buckets) = (self.clock, ModelBuckets(self.clock))
        self.policy = policy
        self.buckets = buckets
        let store: any SharedBuckets = obeysRule ? buckets : Ruleless(buckets: buckets)
        nodes = (0..<count).map { _ in FleetRateLimiter(store, liveNodes: { count }, clock: { clock.now }) }
        dice = SplitMix64(seed: TestSeed.number(seed))
        ledger = Ledger(policy)
        let way = Mutex(SplitMix64(seed: TestSeed.number(seed)))
        // Requests come one after another here: a latency longer than their distance would be the only load.
        let longest = policy.tokenBucket.emissionInterval / 40
        buckets.behave { manners in
            manners.way = { way.withLock { ($0.span(upTo: longest), $0.span(upTo: longest)) } }
        }
    }

    /// Sends requests with random costs and pauses, sometimes long ones, through any node.
    func run(load: Double, faults: Bool = false) async -> (ledger: Ledger, share: Double) {
        let gap = Duration.microseconds(Int(2 * (policy.window / policy.quota / .microseconds(1)) / load))
        let start = clock.now
        for number in 0..<6000 {
            if dice.randomness(1), load < 1 { clock.advance(by: policy.tokenBucket.timeToFill) }
            clock.advance(by: dice.span(upTo: gap))
            if faults, number % 200 == 0 { breakOrMend() }
            await ask(nodes[dice.number(0...nodes.count - 1)], cost: dice.randomness(90) ? 1 : dice.number(1...4))
        }
        let arrived = start.duration(to: clock.now) / policy.tokenBucket.emissionInterval
        return (ledger, Double(ledger.total) / arrived)
    }

    /// All nodes lease tokens from a bucket with less than its new tokens used; then it fills in a pause, and all is
    /// taken at once.
    func runBursts() async -> Ledger {
        for _ in 0..<10 {
            clock.advance(by: policy.tokenBucket.timeToFill)
            for _ in 0..<50 {
                clock.advance(by: .milliseconds(60))
                for node in nodes { await ask(node, cost: 1) }
            }
            clock.advance(by: .milliseconds(500))
            for node in nodes { for _ in 0..<20 { await ask(node, cost: 1) } }
            for _ in 0..<policy.burst { await ask(nodes[0], cost: 1) }
        }
        return ledger
    }

    private func breakOrMend() {
        let fault: SharedBucketsFault? = dice.randomness(50) ? SharedBucketsFault() : nil
        buckets.behave { $0.fault = fault }
    }

    /// The admission counts from the time at which tokens are taken, from the lease or the bucket.
    private func ask(_ node: FleetRateLimiter, cost: Int) async {
        let (before, asked) = (clock.now, buckets.orders.count)
        let admission = await node.admit([RateCharge(RateBucket(client: "t", policy: policy), cost: cost)])
        guard admission.isAdmitted else { return }
        guard buckets.orders.count > asked, let last = buckets.orders.last, let line = last.order.lines.first else {
            return ledger.record(cost, at: admission.isDegraded ? clock.now : before)
        }
        ledger.record(line.prepaid, at: before)
        ledger.record(cost - line.prepaid, at: last.instant)
    }
}

/// Buckets that lend tokens without subtracting them.
private struct Ruleless: SharedBuckets {
    let buckets: ModelBuckets

    func take(_ order: TokenRequest) async throws(SharedBucketsFault) -> TokenGrant {
        let lines = order.lines.map {
            TokenRequest.Line(charge: $0.charge, prepaid: $0.prepaid, inAdvance: $0.inAdvance, life: .zero)
        }
        return try await buckets.take(TokenRequest(requests: order.requests, lines: lines))
    }
}

extension RatePolicy {
    fileprivate func leased(_ isLeased: Bool) -> RatePolicy {
        RatePolicy(name: name, quota: quota, window: window, burst: burst, isLeased: isLeased)
    }
}
