// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing
import TestSupport

@testable import Resilience

struct ConcurrencyLimitTests {
    @Test func `as many calls as allowed are in flight, and no more`() {
        var limit = ConcurrencyLimit()
        let slots = (0..<20).compactMap { _ in limit.acquire() }
        #expect(slots.count == 20)
        #expect(limit.acquire() == nil)
        limit.release(slots[0], .neutral)
        #expect(limit.acquire() != nil)
        #expect(limit.acquire() == nil)
    }

    @Test(arguments: [(.hard, 18), (.soft, 18), (.throttled, 18), (.neutral, 20)] as [(Outcome, Int)])
    func `a failure takes a tenth, and so does throttling`(outcome: Outcome, expected: Int) {
        var limit = ConcurrencyLimit()
        limit.call(outcome)
        #expect(limit.limit == expected)
    }

    @Test func `until the first failure a round of successes doubles the limit, all but those that began below half`() {
        var limit = ConcurrencyLimit()
        limit.callAll(.good)
        #expect(limit.limit == 31)
        for _ in 0..<10 { limit.callAll(.good) }
        #expect(limit.limit == 200)
    }

    @Test func `after a failure a round of successes at the limit adds about one`() {
        var limit = ConcurrencyLimit()
        limit.call(.hard)
        #expect(limit.limit == 18)
        limit.callAll(.good)
        #expect(limit.limit == 18)
        limit.callAll(.good)
        limit.callAll(.good)
        #expect(limit.limit == 19)
    }

    @Test func `an unreached limit does not grow`() {
        var limit = ConcurrencyLimit()
        for _ in 0..<100_000 { limit.call(.good) }
        #expect(limit.limit == 20)
        for _ in 0..<10_000 {
            let slots = (0..<9).compactMap { _ in limit.acquire() }
            for slot in slots { limit.release(slot, .good) }
        }
        #expect(limit.limit == 20)
    }

    @Test func `failures stop at the minimum, successes at the maximum`() {
        var limit = ConcurrencyLimit()
        for _ in 0..<1000 { limit.call(.hard) }
        #expect(limit.limit == 4)
        for _ in 0..<2000 { limit.callAll(.good) }
        #expect(limit.limit == 200)
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `whatever happens, the limit stays within its bounds and admits nothing beyond itself`(seed: UInt64) {
        var generator = SplitMix64(seed: TestSeed.number(seed))
        var limit = ConcurrencyLimit()
        var slots: [ConcurrencyLimit.Slot] = []
        var (goodPercent, most, least) = (50, 0, Int.max)
        for _ in 0..<40_000 {
            if generator.chance(1), generator.chance(10) { goodPercent = generator.number(80...100) }
            if generator.chance(51) {
                let hasRoom = limit.inFlight < limit.limit
                let slot = limit.acquire()
                #expect((slot != nil) == hasRoom)
                if let slot { slots.append(slot) }
            } else if !slots.isEmpty {
                let outcomes: [Outcome] =
                    generator.chance(goodPercent) ? [.good, .slow] : [.hard, .soft, .throttled, .neutral]
                limit.release(slots.removeLast(), outcomes[generator.number(0...outcomes.count - 1)])
            }
            #expect(limit.inFlight == slots.count)
            #expect(4...200 ~= limit.limit && limit.inFlight <= 200)
            (most, least) = (max(most, limit.limit), min(least, limit.limit))
        }
        #expect(least == 4 && most > 20 || !TestSeed.isOfCI)
    }

    @Test func `a policy stays within its limits, and its numbers in order`() {
        typealias Policy = ConcurrencyLimit.Policy
        #expect(
            Policy(minimum: 0, maximum: 10_001, initial: 10_001)
                == Policy(minimum: 1, maximum: 10_000, initial: 10_000))
        #expect(Policy(minimum: 10_001, maximum: 3, initial: 0) == Policy(minimum: 10_000, maximum: 10_000))
    }
}

extension ConcurrencyLimit {
    fileprivate mutating func call(_ outcome: Outcome) {
        if let slot = acquire() { release(slot, outcome) }
    }

    /// Makes as many concurrent calls as the limit allows.
    fileprivate mutating func callAll(_ outcome: Outcome) {
        var slots: [Slot] = []
        while let slot = acquire() { slots.append(slot) }
        for slot in slots { release(slot, outcome) }
    }
}
