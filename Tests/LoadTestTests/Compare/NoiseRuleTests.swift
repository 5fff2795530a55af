// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Testing

@testable import LoadTest

struct NoiseRuleTests {
    /// Seconds that resemble the one before, as those of servers do.
    private static func seconds(
        _ count: Int, seed: UInt64, around level: Double = 10, resemblance: Double = 0.5, spread: Double = 0.2
    ) -> [Double] {
        var random = SplitMix64(seed: seed), state = 0.0
        return (0..<(count + 20)).map { _ in
            let sum = (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &random) }
            state = resemblance * state + (1 - resemblance * resemblance).squareRoot() * sum
            return level * exp(spread * state)
        }.suffix(count)
    }

    private static let latency = NoiseRule(typical: .median, smallestShare: 0.05)
    private static let share = NoiseRule(typical: .mean, smallest: 0.1)

    @Test func `runs that do not differ are rarely called different`() {
        let rule = NoiseRule(typical: .median)
        let different = (0..<30).count { trial in
            let a = Self.seconds(60, seed: UInt64(2 * trial + 1)), b = Self.seconds(60, seed: UInt64(2 * trial + 2))
            return rule.estimate(a, b, arePaired: false)?.size == .real
        }
        #expect(different <= 2)
    }

    @Test func `a run that is slower by half is always told`() {
        for seed in 1..<10 {
            let a = Self.seconds(30, seed: UInt64(seed)), b = Self.seconds(30, seed: UInt64(seed + 100), around: 15)
            let estimate = Self.latency.estimate(a, b, arePaired: false)
            #expect(estimate?.size == .real && (estimate?.difference ?? 0) > 0)
        }
    }

    @Test func `with one second too few nothing is told`() {
        let few = NoiseRule.fewestSeconds - 1
        let short = Self.seconds(few, seed: 1), long = Self.seconds(few + 1, seed: 2, around: 100)
        #expect(Self.latency.estimate(short, long, arePaired: false) == nil)
        #expect(Self.latency.estimate(long, short, arePaired: false) == nil)
        #expect(Self.latency.estimate(long, long, arePaired: false)?.size == NoiseRule.Size.none)
    }

    @Test func `a difference that does not matter is none, however sure it is`() {
        let a = Self.seconds(40, seed: 1, spread: 0.001), b = a.map { $0 * 1.04 }
        #expect(Self.latency.estimate(a, b, arePaired: false)?.size == NoiseRule.Size.none)
        #expect(Self.latency.estimate(a, a.map { $0 * 1.06 }, arePaired: false)?.size == .real)
    }

    @Test func `what a plan does to both runs is no difference, and hides none`() {
        let ramp = (1...60).map(Double.init)
        let a = zip(ramp, Self.seconds(60, seed: 1, around: 1, spread: 0.02)).map { $0 * $1 }
        let b = zip(ramp, Self.seconds(60, seed: 2, around: 1.15, spread: 0.02)).map { $0 * $1 }
        #expect(Self.latency.estimate(a, b, arePaired: true)?.size == .real)
        #expect(Self.latency.estimate(a, b, arePaired: false)?.size == NoiseRule.Size.none)
    }

    @Test func `an event of three seconds is named as such`() {
        let quiet = Array(repeating: 0.0, count: 60)
        var event = quiet
        for second in 30..<33 { event[second] = 20 }
        #expect(Self.share.estimate(quiet, event, arePaired: true)?.size == .passing)
        #expect(Self.share.estimate(quiet, quiet, arePaired: true)?.size == NoiseRule.Size.none)
        #expect(Self.share.estimate(quiet, quiet.map { _ in 1 }, arePaired: true)?.size == .real)
    }

    @Test func `a day is judged like ten minutes`() {
        let day = Self.seconds(86_400, seed: 1)
        #expect(Self.latency.estimate(day, day.map { $0 * 1.2 }, arePaired: true)?.size == .real)
        #expect(Self.latency.estimate(day, day, arePaired: true)?.size == NoiseRule.Size.none)
    }

    @Test func `the same seconds are judged in the same way`() {
        let a = Self.seconds(30, seed: 1), b = Self.seconds(30, seed: 2)
        #expect(Self.latency.estimate(a, b, arePaired: false) == Self.latency.estimate(a, b, arePaired: false))
    }
}
