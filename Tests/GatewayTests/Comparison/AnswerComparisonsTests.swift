// SPDX-License-Identifier: Apache-2.0

import Receipts
import Resilience
import Testing
import TestSupport

@testable import Gateway

/// The answers that are compared, and the cost.
@Suite(.timeLimit(.patient)) struct AnswerComparisonsTests {
    private static let periods = [Period("1", -100_000..<1_000_000)]
    private static let receipt = Samples.receipt(with: periods)

    private static func site(
        _ mode: ComparisonMode = .localAndApple, share: Double = 1, requestsPerSecond: Int = 1000, gate: Gate? = nil
    ) throws -> ComparisonSite {
        ComparisonSite(
            mode, receipt, verifyReceipt: [.answer(try UpstreamAnswer.sandbox(periods))], share: share,
            requestsPerSecond: requestsPerSecond, gate: gate)
    }

    @Test func `an answer is given while its comparison waits for Apple, and a stop ends the wait`() async throws {
        let gate = Gate(), site = try Self.site(gate: gate)
        let running = Task { await site.comparisons.run() }
        #expect(try await site.ask().provenance.source == .local)
        try await eventually { gate.waitingCount == 1 }
        #expect(try await site.ask().provenance.source == .local)
        running.cancel()
        await running.value
        #expect(site.events.all.isEmpty && site.store.tallies(at: site.now).isEmpty)
        gate.open()
    }

    @Test(arguments: [(0.5, 0), (0.51, 1)])
    func `a share of the answers is compared`(share: Double, count: Int) async throws {
        let site = try Self.site(share: share)
        try await site.ask()
        #expect((site.comparisons.heldBytes > 0) == (count > 0))
        try await site.compare(events: count)
        #expect(site.events.all.count == count && site.comparisons.heldBytes == 0)
    }

    @Test func `answers beyond the queue are counted and forgotten`() async throws {
        let site = try Self.site(), limit = ComparisonRules.Limits.waiting
        for _ in 0..<limit { try await site.ask() }
        #expect(site.events.all.isEmpty)
        try await site.ask()
        #expect(site.events.all.map(\.line) == ["local_apple queue_full"])
        try await site.compare(events: 1 + limit)
        let tally = try #require(site.store.tallies(at: site.now)[.localAndApple])
        #expect(tally.compared <= limit && tally.equal == tally.compared)
    }

    @Test(arguments: [(59, 59), (61, 60), (3599, 3540), (86_399, 82_800), (200_000, 172_800)])
    func `an example says only roughly when a receipt was made`(age: Int64, shown: Int64) async throws {
        let broken = try UpstreamAnswer.sandbox([Self.periods[0].trial])
        let site = ComparisonSite(.localAndApple, Self.receipt, at: age, verifyReceipt: [.answer(broken)])
        #expect(try await site.kinds() == ["is_trial_period:false:true"])
        let found = site.store.tallies(at: site.now)[.localAndApple]?.kindsByCount.first?.found
        #expect(found?.examples.map(\.age) == [shown])
    }

    @Test func `comparisons have a budget of their own`() async throws {
        let site = try Self.site(requestsPerSecond: 2)
        for _ in 0..<3 { try await site.ask() }
        try await site.compare(events: 3)
        #expect(
            site.events.all.map(\.line).sorted() == [
                "local_apple compared ", "local_apple compared ", "local_apple over_budget",
            ])
        // The clock stands still: the second gets the answer of this moment, which both environments were asked for.
        #expect(site.upstream.asked.count == 2)
    }

    @Test func `a comparison that needs no request needs no budget, and Apple need not be idle`() async throws {
        let site = try Self.site(requestsPerSecond: 1)
        for _ in 0..<3 { try await site.ask(.apple) { $0.maximumAge = .zero } }
        site.guards.pause(.sandbox, for: .seconds(3600))
        try await site.compare(events: 1)
        #expect(site.events.all.allSatisfy { $0.line == "local_apple compared " })
    }

    @Test func `nothing is sent to an endpoint that is not idle`() async throws {
        let site = try Self.site()
        site.guards.pause(.sandbox, for: .seconds(3600))
        try await site.ask()
        try await site.compare()
        #expect(site.events.all.map(\.line) == ["local_apple upstream_busy"] && site.upstream.asked.isEmpty)
    }

    @Test func `an endpoint whose breaker is not closed is not idle`() async throws {
        var policy = UpstreamGuardPolicy()
        policy.breakerMode = .forcedOpen
        #expect(!UpstreamGuards(policy)[.sandbox].isIdle && UpstreamGuards()[.sandbox].isIdle)
    }

    @Test func `answers beyond the queue's memory are counted and forgotten`() async throws {
        let periods = (0..<4000).map { Period("\(10 + $0)", -100_000 - Int64($0)..<1_000_000 + Int64($0), of: "1") }
        let receipt = Samples.receipt(with: periods), bytes = 2 * receipt.count
        let site = ComparisonSite(.localAndApple, receipt, verifyReceipt: [])
        let room = ComparisonRules.Limits.waitingBytes / bytes
        try #require((1..<ComparisonRules.Limits.waiting).contains(room))
        for _ in 0..<room { try await site.ask() }
        #expect(site.events.all.isEmpty && site.comparisons.heldBytes == room * bytes)
        try await site.ask()
        #expect(site.events.all.map(\.line) == ["local_apple queue_full"])
        #expect(site.comparisons.heldBytes == room * bytes)
    }

    @Test func `a long history counts, although the evidence is short`() async throws {
        let old = (0..<1000).map { Period("\(10 + $0)", -300_000 - Int64($0)..<(-200_000 - Int64($0)), of: "1") }
        let history = try UpstreamAnswer.sandbox(Self.periods + old)
        let site = ComparisonSite(
            .localAndApple, Self.receipt, serverAPI: .answered(history), answers: .serverAPI)
        let answer = try await site.ask(.apple)
        #expect(answer.provenance.source == .serverAPI && answer.transactions.count == 1001)
        #expect(site.comparisons.heldBytes > 1001 * MemoryLayout<Transaction>.stride)
    }

    @Test func `an endpoint is idle below half of its slots and of its budget`() async throws {
        var policy = UpstreamGuardPolicy()
        policy.concurrency = ConcurrencyLimit.Policy(maximum: 10)
        policy.budget = RatePolicy(name: "apple", quota: 4, window: .seconds(3600))
        let limiter = EmbeddedRateLimiter(), sandbox = UpstreamGuards(policy)[.sandbox]
        #expect(sandbox.isIdle)
        var passes: [UpstreamGuard.Pass] = []
        for number in 1...3 {
            passes.append(try await sandbox.acquire(forCallBy: .now + .seconds(600), limiter: limiter))
            #expect(sandbox.isIdle == (number < 3), "\(number)")
        }
        for pass in passes { sandbox.release(pass, .neutral) { _ in } }
        #expect(!sandbox.isIdle)
    }

    @Test func `only new, genuine answers about evidence are compared`() async throws {
        let site = try Self.site()
        // Rejected.
        try await site.ask { $0.expectations.bundleID = "com.example.other" }
        // Undecided, and degraded.
        let failing = ComparisonSite(.both, Self.receipt, verifyReceipt: [.failure(.requestRefused)])
        try await failing.ask(.apple)
        try await failing.ask(.appleFirst)
        // From the cache.
        try await site.ask(.apple)
        #expect(try await site.ask(.apple).provenance.cache == .shared)
        try await site.compare()
        #expect(site.events.all.map(\.line) == ["local_apple compared "] && failing.comparisons.heldBytes == 0)
    }

    @Test func `a comparison gets a new answer of Apple's, whatever is cached`() async throws {
        let site = try Self.site()
        try await site.ask(.apple)
        site.clock.set(Samples.time(3601))
        #expect(try await site.ask(.apple).provenance.cache == .shared)
        try await site.ask(.local)
        try await site.compare(events: 2)
        #expect(site.upstream.asked.count == 4)
    }

    @Test func `an answer of verifyReceipt without a secret has no subscriptions, and is not compared`() async throws {
        let site = try Self.site(.both)
        site.upstream.share(nil)
        #expect(try await site.ask(.apple).provenance.source == .apple)
        #expect(site.comparisons.heldBytes == 0)
    }

    @Test func `without another source nothing is compared`() async throws {
        let signed = try Self.site(.verifyReceiptAndServerAPI), alone = try Self.site()
        alone.upstream.share(nil)
        for site in [signed, alone] {
            #expect(try await site.ask().provenance.source == .local)
            #expect(site.comparisons.heldBytes == 0 && site.upstream.asked.isEmpty && site.customers.requests.isEmpty)
        }
    }
}
