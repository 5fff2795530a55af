// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing
import TestSupport

@testable import LoadTest

/// The cases in which a run reports that its figures are not about the server.
struct HonestyTests {
    /// A run of 10 seconds at 100 a second.
    private static func measurements(
        late: Int = 0, lag: Int64 = 0, response: Int64 = 10, done: Int = 1000, busy: Double = 0.5, seconds: Double = 10
    ) -> LoadMeasurements {
        var measurements = LoadMeasurements()
        (measurements.counts.intended, measurements.counts.late, measurements.counts.answered) = (1000, late, done)
        (measurements.seconds, measurements.cpuSeconds) = (seconds, 0.2 * seconds)
        measurements.readySeconds = (busy - 0.2) * seconds
        for _ in 0..<1000 {
            measurements.sendLag.record(lag * 1_000_000)
            measurements.response.record(response * 1_000_000)
        }
        return measurements
    }

    private enum Punctuality {
        case kept
        /// Too many were late, by little beside the response.
        case harmless
        case overloaded
    }

    private static let cases: [(measurements: LoadMeasurements, punctuality: Punctuality)] = [
        (measurements(), .kept),
        // Late at most one in a hundred.
        (measurements(late: 10, lag: 6), .kept), (measurements(late: 11, lag: 6), .overloaded),
        // So late beside so long a wait says nothing against the server's figure.
        (measurements(late: 11, lag: 6, response: 70), .harmless),
        (measurements(late: 500, lag: 6, response: 70), .harmless),
        (measurements(late: 500, lag: 8, response: 70), .overloaded),
        // Busy is no fault, and behind is the server's, but not both.
        (measurements(busy: 0.99), .kept), (measurements(done: 900), .kept),
        (measurements(done: 900, busy: 0.99), .overloaded), (measurements(busy: 0.99, seconds: 12), .overloaded),
        (measurements(busy: 0.5, seconds: 12), .kept),
    ]

    @Test(arguments: cases)
    private func `a schedule is kept by who is on time and has room`(
        _ run: (measurements: LoadMeasurements, punctuality: Punctuality)
    ) throws {
        var plan = LoadPlan(target: try LoadTarget("http://localhost"))
        plan.schedule = LoadSchedule(
            curve: RateCurve(stages: [RateStage(from: 100, to: 100, seconds: 10)]), pattern: .constant, first: 100)
        #expect(run.measurements.keptSchedule(of: plan) == (run.punctuality == .kept))
        let judgement = Judgement(run.measurements, plan, [], wasInterrupted: false)
        #expect(judgement.verdict == (run.punctuality == .overloaded ? .generatorOverloaded : .passed))
        #expect(judgement.reasons.isEmpty == (run.punctuality != .overloaded))
        // A closed loop has no schedule.
        plan.isClosed = true
        #expect(run.measurements.keptSchedule(of: plan) && !run.measurements.areAboutGenerator(plan))
    }

    @Test func `the kernel's count of a thread is read`() {
        #expect(ThreadTime(schedstat: "1500000000 250000000 7\n") == ThreadTime(running: 1.5, waiting: 0.25))
        for text in ["", "1 2", "a b c", "-1 2 3"] { #expect(ThreadTime(schedstat: text) == nil) }
    }

    // The kernel counts a running thread's time at its ticks, so the first reading may already be late by several
    // milliseconds: the thread works at least once, and until a tick is seen.
    @Test func `a thread that works has running time`() {
        let before = ThreadTime.current(), deadline = ContinuousClock.now + Patience.forEvent
        var generator = SplitMix64(seed: TestSeed.number(0)), sum: UInt64 = 0
        repeat {
            sum &+= generator.next()
        } while ThreadTime.current().running == before.running
            && ContinuousClock.now < deadline
        #expect(sum != 0 && ThreadTime.current().running > before.running)
    }
}
