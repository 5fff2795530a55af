// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing
import TestSupport

@testable import Resilience

/// Long random sequences, and the invariants of all of them.
struct CircuitBreakerSequenceTests {
    private static let seeds = 0..<40 as Range<UInt64>

    // MARK: A naive model

    /// The rules of a closed breaker, applied to a list of all events.
    private struct NaiveBreaker {
        private var hardFailuresInARow: [Outcome] = []
        private var calls: [(bucket: Int, outcome: Outcome)] = []
        private var start: Instant?

        /// Returns true if the breaker trips on this outcome.
        mutating func add(_ outcome: Outcome, at now: Instant) -> Bool {
            guard outcome != .neutral else { return false }
            hardFailuresInARow = outcome.isHard ? hardFailuresInARow + [outcome] : []
            guard outcome != .throttled else { return false }
            start = start ?? now
            let bucket = Int(((start ?? now).duration(to: now) / Duration.seconds(3)).rounded(.down))
            calls.append((bucket, outcome))
            return hardFailuresInARow.count >= 5 || isTripped(at: bucket)
        }

        private func isTripped(at bucket: Int) -> Bool {
            let recent = calls.filter { $0.bucket > bucket - 10 }.map(\.outcome)
            guard recent.count >= 20 else { return false }
            return Double(recent.count { $0.isFailure }) / Double(recent.count) >= 0.5
                || Double(recent.count { $0.duration > .seconds(5) }) / Double(recent.count) >= 0.8
        }
    }

    @Test(arguments: [(40, 0), (46, 10), (30, 70), (5, 79), (55, 0), (20, 20)], seeds)
    func `closed, it trips exactly when a list of all events says so`(percent: (bad: Int, slow: Int), seed: UInt64) {
        var generator = SplitMix64(seed: TestSeed.number(seed))
        let subject = Subject()
        var model = NaiveBreaker()
        for _ in 0..<400 {
            // Milliseconds, so that a division of doubles finds the right bucket.
            subject.now += generator.milliseconds(0...(generator.chance(2) ? 30_000 : 1500))
            let outcome = anyOutcome(badPercent: percent.bad, slowPercent: percent.slow, using: &generator)
            subject.call(outcome)
            let isTripped = model.add(outcome, at: subject.now)
            #expect((subject.breaker.state.name == .open) == isTripped)
            if isTripped { return }
        }
    }

    // MARK: Invariants

    /// A breaker driven at random, and its permits so far.
    private final class Ordeal {
        let subject: Subject
        /// Permits whose outcome will be recorded later, or never.
        var permits: [(permit: CircuitBreaker.Permit, instant: Instant)] = []
        var generator: SplitMix64
        private var badPercent = 0

        init(_ seed: UInt64, mode: CircuitBreaker.Mode = .auto) {
            subject = Subject(mode: mode, seed: seed)
            generator = SplitMix64(seed: TestSeed.number(~seed))
        }

        func step(jumping clockJumps: Bool = false) {
            if generator.chance(1) { badPercent = generator.number(0...100) }
            advance(jumping: clockJumps)
            if permits.isEmpty || generator.chance(55) { begin() } else { end() }
        }

        private func advance(jumping clockJumps: Bool) {
            if clockJumps, generator.chance(2) {
                let jumps: [Duration] = [.seconds(-1), .seconds(-40), .seconds(-86_400 * 365), .seconds(86_400 * 365)]
                subject.now += jumps[generator.number(0...3)]
            }
            subject.now += generator.milliseconds(0...(generator.chance(5) ? 60_000 : 500))
        }

        private func begin() {
            guard let permit = subject.permit() else { return }
            permits.append((permit, subject.now))
        }

        /// Records the outcome of a recent permit, at times of an old one, and sometimes none.
        private func end() {
            let newest = permits.count - 1
            let index = generator.chance(20) ? generator.number(0...newest) : newest
            let permit = permits.remove(at: index).permit
            guard !generator.chance(10) else { return }
            subject.record(anyOutcome(badPercent: badPercent, slowPercent: 10, using: &generator), of: permit)
        }
    }

    @Test(arguments: seeds) func `never more than three probes are in flight`(seed: UInt64) {
        let ordeal = Ordeal(seed)
        var mostAlive = 0
        for _ in 0..<5000 {
            ordeal.step()
            guard ordeal.subject.breaker.state == .halfOpen, let generation = ordeal.permits.last?.permit.generation
            else { continue }
            let alive = ordeal.permits.count {
                $0.permit.generation == generation && $0.permit.probe != nil
                    && ordeal.subject.now < $0.instant + .seconds(15)
            }
            #expect(alive <= 3)
            mostAlive = max(alive, mostAlive)
        }
        #expect(mostAlive == 3 || !TestSeed.isOfCI)
    }

    @Test(arguments: seeds) func `what was permitted in an earlier generation changes nothing`(seed: UInt64) {
        let ordeal = Ordeal(seed)
        var lateCount = 0
        for _ in 0..<2000 {
            ordeal.step()
            guard let generation = ordeal.permits.map(\.permit.generation).max() else { continue }
            let subject = ordeal.subject
            for late in ordeal.permits where late.permit.generation < generation {
                let before = subject.breaker
                for outcome in Outcome.all { subject.record(outcome, of: late.permit) }
                #expect(subject.breaker == before)
                lateCount += 1
            }
            ordeal.permits.removeAll { $0.permit.generation + 2 < generation }
        }
        #expect(lateCount > 0 || !TestSeed.isOfCI)
    }

    @Test(arguments: seeds, [false, true])
    func `once the upstream has recovered, it closes within the longest opening and a lease`(
        seed: UInt64, clockJumps: Bool
    ) {
        let ordeal = Ordeal(seed)
        for _ in 0..<3000 {
            ordeal.step(jumping: clockJumps)
            if ordeal.generator.chance(1) { Self.expectRecovery(of: ordeal.subject) }
        }
    }

    /// Checks a copy, so that the test continues with the original. A closed breaker may still trip on earlier calls;
    /// that takes no longer than an opening.
    private static func expectRecovery(of subject: Subject) {
        let copy = Subject()
        (copy.breaker, copy.now) = (subject.breaker, subject.now)
        let deadline = copy.now + .seconds(300 + 15)
        while copy.now < deadline {
            copy.now += .seconds(5)
            for _ in 0..<3 { copy.call(.good) }
        }
        #expect(copy.breaker.state == .closed)
    }

    @Test(arguments: seeds) func `it rejects only while it is not closed, and says for how long`(seed: UInt64) {
        let ordeal = Ordeal(seed)
        var rejections = 0
        for _ in 0..<3000 {
            ordeal.step(jumping: true)
            let subject = ordeal.subject
            guard case .reject(let wait) = subject.breaker.permit(at: subject.now) else { continue }
            rejections += 1
            #expect(wait > .zero && wait <= .seconds(300))
            #expect(subject.breaker.state != .closed)
            var later = subject.breaker
            if case .reject = later.permit(at: subject.now + wait) { Issue.record("told to come back after \(wait)") }
        }
        #expect(rejections > 100 || !TestSeed.isOfCI)
    }

    @Test(arguments: seeds) func `metrics only, nothing is ever rejected`(seed: UInt64) {
        let ordeal = Ordeal(seed, mode: .metricsOnly)
        var overruled = 0
        for _ in 0..<3000 {
            ordeal.step(jumping: true)
            guard case .call = ordeal.subject.breaker.permit(at: ordeal.subject.now) else {
                Issue.record("rejected")
                return
            }
            overruled += ordeal.subject.breaker.state.name == .closed ? 0 : 1
        }
        #expect(overruled > 100 || !TestSeed.isOfCI)
    }

    // MARK: Extreme times

    @Test(arguments: Outcome.all) func `the ends of time neither overflow nor wedge it`(outcome: Outcome) {
        for first in extremeInstants {
            for second in extremeInstants {
                let subject = Subject()
                subject.now = first
                for _ in 0..<6 { subject.call(outcome) }
                subject.now = second
                for _ in 0..<6 { subject.call(outcome) }
                subject.call(.success(took: .seconds(Int64.max)))
                Self.expectRecovery(of: subject)
            }
        }
    }
}

extension Outcome {
    fileprivate var isFailure: Bool {
        if case .failure = self { true } else { false }
    }

    fileprivate var isHard: Bool {
        if case .failure(.hard, _) = self { true } else { false }
    }

    fileprivate var duration: Duration {
        switch self {
        case .success(let took), .failure(_, let took): took
        case .throttled, .neutral: .zero
        }
    }
}

/// Draws an outcome; five in a hundred say nothing about health.
private func anyOutcome(badPercent: Int, slowPercent: Int, using generator: inout SplitMix64) -> Outcome {
    if generator.chance(5) { return generator.chance(50) ? .neutral : .throttled }
    let took: Duration = generator.chance(slowPercent) ? .seconds(6) : .seconds(5)
    guard generator.chance(badPercent) else { return .success(took: took) }
    return .failure(generator.chance(30) ? .hard : .soft, took: took)
}
