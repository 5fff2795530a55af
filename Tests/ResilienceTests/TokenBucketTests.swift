// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing
import TestSupport

@testable import Resilience

struct TokenBucketTests {
    /// Ten at once, two per second.
    private static let policy = TokenBucket.Policy(capacity: 10, refill: 2, per: .seconds(1))

    // MARK: Taking

    @Test func `a burst is admitted up to the capacity, then one token each emission interval`() {
        var bucket = TokenBucket(Self.policy)
        for remaining in (0..<10).reversed() { #expect(bucket.remaining(afterTaking: 1, at: at(.zero)) == remaining) }
        #expect(bucket.take(at: at(.zero)) == .refused(retryAfter: .milliseconds(500)))
        #expect(bucket.take(at: at(.milliseconds(499))) == .refused(retryAfter: .milliseconds(1)))
        #expect(bucket.remaining(afterTaking: 1, at: at(.milliseconds(500))) == 0)
        #expect(bucket.take(at: at(.milliseconds(500))) == .refused(retryAfter: .milliseconds(500)))
    }

    @Test(arguments: [(1, 9), (3, 7), (10, 0)]) func `a cost takes so many tokens`(cost: Int, remaining: Int) {
        var bucket = TokenBucket(Self.policy)
        #expect(bucket.remaining(afterTaking: cost, at: at(.zero)) == remaining)
        #expect(bucket.timeUntilFull(at: at(.zero)) == .milliseconds(500 * cost))
    }

    @Test func `what costs more than the capacity is never admitted, and takes nothing`() {
        var bucket = TokenBucket(Self.policy)
        #expect(bucket.take(11, at: at(.zero)) == .refused(retryAfter: nil))
        #expect(bucket.take(.max, at: at(.zero)) == .refused(retryAfter: nil))
        #expect(bucket.remaining(at: at(.zero)) == 10)
    }

    @Test(arguments: [0, -1, .min]) func `what costs nothing is admitted, and adds nothing`(cost: Int) {
        var bucket = TokenBucket(Self.policy)
        _ = bucket.take(10, at: at(.zero))
        #expect(bucket.remaining(afterTaking: cost, at: at(.zero)) == 0)
        #expect(bucket.take(at: at(.zero)) == .refused(retryAfter: .milliseconds(500)))
    }

    @Test(arguments: [(0, 0), (499, 0), (500, 1), (2600, 5), (4999, 9), (5000, 10), (1_000_000, 10)])
    func `an empty bucket fills evenly, and no further than its capacity`(milliseconds: Int, tokens: Int) {
        var bucket = TokenBucket(Self.policy)
        _ = bucket.take(10, at: at(.zero))
        #expect(bucket.remaining(at: at(.milliseconds(milliseconds))) == tokens)
        #expect(bucket.remaining(afterTaking: 0, at: at(.milliseconds(milliseconds))) == tokens)
    }

    @Test func `copies take from several buckets all or nothing`() {
        var tiers = [TokenBucket(Self.policy), TokenBucket(.init(capacity: 1, refill: 1, per: .seconds(60)))]
        func take() -> Bool {
            var copies = tiers
            for index in copies.indices {
                guard case .admitted = copies[index].take(at: at(.zero)) else { return false }
            }
            tiers = copies
            return true
        }
        #expect(take() && !take() && !take())
        #expect(tiers.map { $0.remaining(at: at(.zero)) } == [9, 0])
    }

    // MARK: Time

    @Test func `after a clock that goes back, no request waits longer than for an empty bucket`() {
        var bucket = TokenBucket(Self.policy)
        _ = bucket.take(at: at(.seconds(1_000_000)))
        #expect(bucket.take(at: at(.zero)) == .refused(retryAfter: .milliseconds(500)))
        #expect(bucket.take(10, at: at(.seconds(5))) == .refused(retryAfter: .seconds(5)))
        _ = bucket.take(0, at: at(.zero))
        #expect(bucket.remaining(afterTaking: 10, at: at(.seconds(5))) == 0)
    }

    @Test func `the ends of time do not overflow, even with the slowest of all buckets`() {
        let slowest = TokenBucket.Policy(capacity: .max, refill: .min, per: .seconds(Int64.max))
        for first in extremeInstants {
            for second in extremeInstants {
                var bucket = TokenBucket(slowest)
                #expect(bucket.remaining(afterTaking: slowest.capacity, at: first) == 0)
                _ = bucket.take(slowest.capacity, at: second)
                #expect(bucket.timeUntilFull(at: second) <= slowest.timeToFill)
            }
        }
    }

    @Test func `a policy stays within its limits`() {
        let largest = TokenBucket.Policy(capacity: 1_000_000_001, refill: 0, per: .seconds(367 * 86_400))
        #expect(largest == TokenBucket.Policy(capacity: 1_000_000_000, refill: 1, per: .seconds(366 * 86_400)))
        let smallest = TokenBucket.Policy(capacity: 0, refill: 1_000_000_001, per: .zero)
        #expect(smallest == TokenBucket.Policy(capacity: 1, refill: 1_000_000_000, per: .milliseconds(1)))
        #expect(smallest.emissionInterval > .zero)
    }

    // MARK: Long random sequences

    private static let policies = [
        policy, .init(capacity: 1, refill: 1, per: .seconds(1)), .init(capacity: 100, refill: 1000, per: .seconds(60)),
        .init(capacity: 7, refill: 3, per: .seconds(1)),
    ]

    @Test(arguments: policies, 0..<5 as Range<UInt64>)
    func `no stretch of time sees more than the burst and the refill of that time`(
        policy: TokenBucket.Policy, seed: UInt64
    ) {
        let taken = Self.admissions(under: policy, seed: seed)
        #expect(taken.count > 100 || !TestSeed.isOfCI)
        for (index, first) in taken.enumerated() {
            var cost = 0
            for last in taken[index...] {
                cost += last.cost
                let span = first.instant.duration(to: last.instant)
                #expect(policy.emissionInterval * cost <= policy.timeToFill + span)
            }
        }
    }

    private static func admissions(
        under policy: TokenBucket.Policy, seed: UInt64
    ) -> [(instant: Instant, cost: Int)] {
        var generator = SplitMix64(seed: TestSeed.number(seed))
        var bucket = TokenBucket(policy)
        var now = at(.zero)
        var taken: [(Instant, Int)] = []
        for _ in 0..<600 {
            now += Self.gap(under: policy, using: &generator)
            let cost = generator.number(1...max(1, policy.capacity / 4))
            if case .admitted = bucket.take(cost, at: now) { taken.append((now, cost)) }
        }
        return taken
    }

    /// Draws a gap, mostly below the time of one token, at times enough for a new burst.
    private static func gap(under policy: TokenBucket.Policy, using generator: inout SplitMix64) -> Duration {
        let longest = generator.chance(5) ? policy.timeToFill : policy.emissionInterval * 2
        return generator.chance(20) ? .zero : .random(upTo: longest, using: &generator)
    }

    /// The same rule in another form: a level that rises with time and falls with each request.
    private struct Level {
        let policy: TokenBucket.Policy
        var span: Duration
        var lastInstant: Instant

        init(_ policy: TokenBucket.Policy, at now: Instant) {
            (self.policy, span, lastInstant) = (policy, policy.timeToFill, now)
        }

        mutating func take(_ cost: Int, at now: Instant) -> TokenDecision {
            span = min(policy.timeToFill, span + lastInstant.duration(to: now))
            lastInstant = now
            let price = policy.emissionInterval * cost
            guard price <= span else { return .refused(retryAfter: price - span) }
            span -= price
            return .admitted
        }

        var remaining: Int { Int(span.attoseconds / policy.emissionInterval.attoseconds) }
    }

    @Test(arguments: policies, 0..<5 as Range<UInt64>)
    func `every decision is that of a level that rises and falls`(policy: TokenBucket.Policy, seed: UInt64) {
        var generator = SplitMix64(seed: TestSeed.number(seed))
        var now = at(.zero)
        var (bucket, level) = (TokenBucket(policy), Level(policy, at: now))
        for _ in 0..<5000 {
            now += Self.gap(under: policy, using: &generator)
            let cost = generator.number(1...policy.capacity)
            #expect(bucket.take(cost, at: now) == level.take(cost, at: now))
            #expect(bucket.remaining(at: now) == level.remaining)
        }
    }

    @Test func `after exactly the span it was told, a refused request is admitted`() {
        var generator = SplitMix64(seed: TestSeed.number(1))
        var bucket = TokenBucket(.init(capacity: 7, refill: 3, per: .seconds(1)))
        var now = at(.zero)
        var refusals = 0
        for _ in 0..<2000 {
            let cost = generator.number(1...7)
            guard case .refused(let wait?) = bucket.take(cost, at: now) else { continue }
            refusals += 1
            var early = bucket
            #expect(early.take(cost, at: now + wait - Duration(attoseconds: 1)) != .admitted)
            now += wait
            #expect(bucket.remaining(afterTaking: cost, at: now) == 0)
        }
        #expect(refusals > 500 || !TestSeed.isOfCI)
    }
}

extension TokenBucket {
    /// Takes tokens, and returns the number left; nil if they were refused.
    fileprivate mutating func remaining(afterTaking cost: Int, at now: Instant) -> Int? {
        take(cost, at: now) == .admitted ? remaining(at: now) : nil
    }
}
