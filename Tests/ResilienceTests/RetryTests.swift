// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing
import TestSupport

@testable import Resilience

struct RetryTests {
    // MARK: Budget

    @Test func `with no calls it grants the burst, then one each second`() {
        var budget = RetryBudget()
        for _ in 0..<10 { #expect(budget.take(at: at(.zero)) == true) }
        #expect(budget.take(at: at(.zero)) == false)
        #expect(budget.take(at: at(.milliseconds(999))) == false)
        #expect(budget.take(at: at(.seconds(1))) == true)
        #expect(budget.take(at: at(.milliseconds(1999))) == false)
    }

    @Test func `ten calls pay for one retry, nine do not`() {
        var budget = RetryBudget()
        for _ in 0..<10 { #expect(budget.take(at: at(.zero)) == true) }
        for _ in 0..<9 { budget.recordCall(at: at(.zero)) }
        #expect(budget.take(at: at(.zero)) == false)
        #expect(budget.take(at: at(.milliseconds(99))) == false)
        budget.recordCall(at: at(.zero))
        #expect(budget.take(at: at(.zero)) == true)
    }

    @Test func `calls made long ago pay for no more than the burst`() {
        var budget = RetryBudget()
        for _ in 0..<1000 { budget.recordCall(at: at(.zero)) }
        for _ in 0..<10 { #expect(budget.take(at: at(.zero)) == true) }
        #expect(budget.take(at: at(.zero)) == false)
        #expect(budget.take(at: at(.milliseconds(999))) == false)
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `no stretch of time sees more retries than a tenth of its calls, one a second, and the burst`(seed: UInt64) {
        var generator = SplitMix64(seed: TestSeed.number(seed))
        var budget = RetryBudget()
        var now = at(.zero)
        // The calls up to each granted retry, itself included.
        var granted: [(instant: Instant, calls: Int)] = []
        var (calls, refusals) = (0, 0)
        for _ in 0..<4000 {
            now += generator.milliseconds(0...(generator.chance(1) ? 20_000 : 40))
            if generator.chance(60) {
                budget.recordCall(at: now)
                calls += 1
            } else if budget.take(at: now) {
                granted.append((now, calls))
            } else {
                refusals += 1
            }
        }
        #expect(granted.count > 100 && refusals > 100 || !TestSeed.isOfCI)
        for (index, first) in granted.enumerated() {
            for (count, last) in zip(1..., granted[index...]) {
                let paid = first.instant.duration(to: last.instant) + .milliseconds(100) * (last.calls - first.calls)
                #expect(.seconds(count) <= .seconds(10) + paid)
            }
        }
    }

    /// If every call failed and were retried, the upstream would see a tenth more calls, not twice as many.
    @Test func `a tenth of all calls may be retried for as long as it takes`() {
        var budget = RetryBudget()
        var granted = 0
        for call in 0..<20_000 {
            budget.recordCall(at: at(.milliseconds(call)))
            granted += budget.take(at: at(.milliseconds(call))) ? 1 : 0
        }
        // A tenth, one a second for twenty seconds, and the burst.
        #expect(2000 + 20...2000 + 20 + 10 ~= granted)
    }

    @Test func `a clock that jumps neither overflows nor wedges the budget`() {
        for first in extremeInstants {
            for second in extremeInstants {
                var budget = RetryBudget()
                for _ in 0..<20 { _ = budget.take(at: first) }
                budget.recordCall(at: second)
                _ = budget.take(at: second)
                #expect(budget.take(at: second + .seconds(10)) == true)
            }
        }
    }

    // MARK: Delays

    private static func delay(
        at now: Duration = .zero, budget: inout RetryBudget, seed: UInt64 = 0
    ) -> Duration? {
        var generator = SplitMix64(seed: TestSeed.number(seed))
        return budget.delay(from: at(.zero), until: at(.seconds(10)), at: at(now), using: &generator)
    }

    @Test func `the delay is drawn evenly from zero to 100 ms`() throws {
        let delays = (0..<2000 as Range<UInt64>).compactMap { seed in
            var budget = RetryBudget()
            return Self.delay(budget: &budget, seed: seed)
        }
        #expect(delays.count == 2000)
        #expect(delays.allSatisfy { $0 >= .zero && $0 <= .milliseconds(100) })
        #expect(try #require(delays.min()) < .milliseconds(2))
        #expect(try #require(delays.max()) > .milliseconds(98))
        let mean = delays.reduce(.zero, +) / delays.count
        // Seven standard errors.
        #expect(mean > .milliseconds(45) && mean < .milliseconds(55))
    }

    @Test(arguments: 0..<100 as Range<UInt64>) func `no retry begins in the second half`(seed: UInt64) {
        var budget = RetryBudget()
        #expect(Self.delay(at: .seconds(5), budget: &budget, seed: seed) == nil)
        let now: Duration = .milliseconds(4950)
        if let delay = Self.delay(at: now, budget: &budget, seed: seed) { #expect(now + delay < .seconds(5)) }
    }

    @Test func `a retry is taken from the budget, and what is not retried takes nothing`() {
        var budget = RetryBudget()
        for _ in 0..<9 { #expect(budget.take(at: at(.zero)) == true) }
        #expect(Self.delay(at: .seconds(9), budget: &budget) == nil)
        #expect(Self.delay(budget: &budget) != nil)
        #expect(Self.delay(budget: &budget) == nil)
    }
}
