// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Resilience
import Testing

@testable import LoadTest

/// Limits in front of a simulated fleet, with the gateway's rules and without one of them.
struct LimitSimulationTests {
    private static let perSecond = RatePolicy(name: "second", quota: 100, window: .seconds(1))

    private static func outcome(
        _ load: LimitCase.Load, _ spread: LimitCase.Spread = .few, seconds: Double = 600,
        loss: Range<Double>? = nil, fault: LimitedFleet.Fault? = nil, seed: UInt64 = 1
    ) -> LimitOutcome {
        LimitSimulation(nodes: 100, seed: seed).run(
            LimitCase(policy: perSecond, load: load, spread: spread, span: seconds, loss: loss, fault: fault))
    }

    @Test(arguments: LimitCase.Load.allCases, LimitCase.Spread.allCases)
    func `every limit is kept, and a client below it is admitted`(load: LimitCase.Load, spread: LimitCase.Spread) {
        let outcome = Self.outcome(load, spread, seconds: 120)
        #expect(outcome.isKept(nodes: 100), "\(outcome)")
        if load == .below { #expect(outcome.counts.admitted == outcome.counts.requests) }
        if load == .above { #expect(outcome.admittedShare > 0.98, "\(outcome)") }
    }

    @Test func `tokens taken in advance save commands to Redis, and the limit is kept`() {
        let outcome = Self.outcome(.bursts)
        #expect(outcome.counts.leased > outcome.counts.requests / 10 && outcome.commandsPerRequest < 0.9, "\(outcome)")
        #expect(outcome.isKept(nodes: 100), "\(outcome)")
    }

    @Test func `a Redis that does not age the bucket before a lease is detected`() {
        let policy = RatePolicy(name: "second", quota: 400, window: .seconds(1))
        let worst = [LimitedFleet.Fault?.none, .ignoresLeaseRule].map { fault in
            LimitSimulation(nodes: 300, seed: 1).run(
                LimitCase(policy: policy, load: .bursts, spread: .few, span: 60, fault: fault))
        }
        #expect(worst[0].isKept(nodes: 300) && !worst[1].isKept(nodes: 300), "\(worst.map(\.worstShare))")
    }

    @Test func `while its shard is lost, a client gets the shares of the nodes that it reaches`() {
        let few = Self.outcome(.above, .few, seconds: 180, loss: 60..<120)
        let even = Self.outcome(.above, .even, seconds: 180, loss: 60..<120)
        // One node of a hundred.
        #expect((0.009...0.03).contains(few.shareInLoss), "\(few)")
        #expect((0.5...1.1).contains(even.shareInLoss), "\(even)")
        #expect(few.counts.shared > 0 && few.isKept(nodes: 100) && even.isKept(nodes: 100))
    }

    @Test func `nodes that each count only themselves are detected while the shard is lost`() {
        let outcome = Self.outcome(.above, .even, seconds: 180, loss: 60..<120, fault: .countsOneNode)
        #expect(!outcome.isKept(nodes: 100) && outcome.shareInLoss > 1.4, "\(outcome)")
    }

    @Test func `the same seed gives the same outcome, another seed another one`() {
        let first = Self.outcome(.bursts, seconds: 60)
        #expect(first == Self.outcome(.bursts, seconds: 60))
        #expect(first != Self.outcome(.bursts, seconds: 60, seed: 2))
    }

    @Test func `the worst window is found whatever its length`() {
        let start = Instant.now
        var ledger = SpendingLedger(Self.perSecond.tokenBucket)
        for second in 0..<10 { ledger.record(100, at: start + .seconds(second)) }
        #expect(ledger.worstShare == 1 && ledger.spent == 1000 && ledger.allowed(in: 9) == 1000)
        // 130 tokens in the half second since the last 100.
        ledger.record(80, at: start + .milliseconds(9500))
        #expect(abs(ledger.worstShare - 1.3) < 1e-9)
    }

    @Test func `the simulated bucket gives what the script gives`() {
        let start = Instant.now
        var bucket = SimulatedBucket(Self.perSecond)
        var node = NodeBuckets(maximumBuckets: 1)
        let charges = [RateCharge(RateBucket(client: "a", policy: Self.perSecond))]
        let batch = node.prepare(charges, requests: 120, at: start)
        let grant = bucket.take(batch.order, at: start)
        #expect(grant.admitted == 100 && grant.lines[0].inAdvance == 0)
        #expect(grant.lines[0].timeUntilFull == .seconds(1) && grant.lines[0].timeUntilNext == .milliseconds(10))
        let later = bucket.take(batch.order, at: start + .milliseconds(500))
        #expect(later.admitted == 50)
    }
}
