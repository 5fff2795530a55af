// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Resilience
import Testing

@testable import LoadTest

/// Customers, outages of Apple, and the report, in small runs.
struct FleetSimulationTests {
    private static let plan: SimulationPlan = {
        var plan = SimulationPlan()
        (plan.nodes, plan.seconds, plan.rate) = (20, 6 * 3600, 1000)
        (plan.customers, plan.shards, plan.outage) = (2000, 4, 120)
        plan.loss = 14_400..<15_000
        return plan
    }()

    private static func customers(_ lost: LostShard, seed: UInt64 = 1) -> CustomerOutcome {
        var plan = plan
        plan.seed = seed
        var simulation = CustomerSimulation(plan, losing: lost)
        return simulation.run()
    }

    @Test func `a customer costs two calls for each refresh, and the budget is kept`() {
        let outcome = Self.customers(.none)
        #expect(outcome.requestCount > 3000)
        #expect(outcome.callCount == 2 * (outcome.answers[.refreshed] ?? 0))
        #expect(outcome.answers[.degraded] == nil && outcome.peakCallsPerHour <= SimulatedBudget.callsPerHour)
        // Fewer than requests: most are served from a cache.
        #expect(outcome.share(of: .shared) > 0.5 && outcome.nearIfRouted > 0)
    }

    @Test func `losing a shard costs calls, and losing the head of the purges costs all answers`() {
        let usual = Self.customers(.none)
        let effects = [LostShard.answers, .purges].map {
            LossEffects(of: Self.customers($0), losing: $0, in: Self.plan.loss, comparedWith: usual)
        }
        #expect((0.15...0.35).contains(effects[0].lostAnswers) && effects[1].lostAnswers == 1)
        #expect(effects[0].extraCalls > 0 && effects[1].extraCalls > effects[0].extraCalls, "\(effects)")
        #expect(effects[1].worstHitRate < effects[0].usualHitRate / 2)
        #expect(effects.allSatisfy { $0.recoveryMinutes != nil })
    }

    @Test func `the same seed gives the same customers, another seed others`() {
        #expect(Self.customers(.answers) == Self.customers(.answers))
        #expect(Self.customers(.answers) != Self.customers(.answers, seed: 2))
    }

    @Test func `the budget admits its hour's calls and no more`() {
        var budget = SimulatedBudget(nodes: 10)
        let start = Instant.now
        let admitted = (0..<200_000).count { number in
            budget.take(.transactionHistory, by: number % 10, at: start + .milliseconds(number * 18))
        }
        #expect((161_000...SimulatedBudget.callsPerHour).contains(admitted), "\(admitted)")
    }

    @Test(arguments: OutageCase.Fault.allCases)
    func `in an outage the breakers hold back nearly all calls, and close after it`(fault: OutageCase.Fault) {
        let plan = OutageCase(fault: fault, callsPerSecond: 10, nodes: 5, outage: 60..<360, span: 600)
        let outcome = OutageSimulation(plan, seed: 1).run()
        #expect(outcome.openedNodes == 5 && outcome.needlessOpenings == 0, "\(outcome)")
        #expect(outcome.probes > 0 && outcome.sent < outcome.wanted / 10, "\(outcome)")
        #expect((0...120).contains(outcome.recoverySeconds), "\(outcome)")
        #expect(outcome == OutageSimulation(plan, seed: 1).run())
    }

    @Test func `too few calls open no breaker if Apple answers with an error`() {
        let plan = OutageCase(fault: .serverError, callsPerSecond: 0.03, nodes: 20, outage: 60..<1860, span: 2000)
        let outcome = OutageSimulation(plan, seed: 1).run()
        #expect(outcome.openedNodes == 0 && outcome.sent >= outcome.wanted && outcome.wanted > 500, "\(outcome)")
    }

    @Test func `a report names each broken promise`() {
        let customers = Self.customers(.none)
        let policy = LimitCase.day(seconds: 60)[9].policy
        let cases = [LimitedFleet.Fault?.none, .countsOneNode].map { fault in
            LimitSimulation(nodes: 100, seed: 1).run(
                LimitCase(policy: policy, load: .above, spread: .even, span: 180, loss: 60..<120, fault: fault))
        }
        func report(_ limits: [LimitOutcome]) -> SimulationReport {
            SimulationReport(
                SimulationOutcome(limits: limits, customers: customers, losses: [], outages: []), Self.plan)
        }
        let kept = report([cases[0]]), broken = report(cases)
        #expect(kept.passed && kept.text.hasPrefix("PASSED  20 nodes, 6 h, 1,000 requests/s, 4 shards"))
        #expect(broken.problems.count == 1 && broken.text.hasPrefix("FAILED"), "\(broken.problems)")
        #expect(broken.problems[0].hasPrefix("the limit 100/1s was not kept (above, even, shard lost)"))
    }

    @Test func `events come in the order of their times, and of adding`() {
        var queue = EventQueue<Int, String>()
        for (time, name) in [(3, "c"), (1, "a"), (2, "b"), (1, "A")] { queue.add(name, at: time) }
        #expect(queue.popFirst(upTo: 0) == nil)
        var names: [String] = []
        while let (_, name) = queue.popFirst(upTo: 2) { names.append(name) }
        #expect(names == ["a", "A", "b"] && queue.popFirst(upTo: 3)?.event == "c")
    }
}
