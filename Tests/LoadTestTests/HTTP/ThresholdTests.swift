// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

/// Thresholds of a run, and their judgement.
struct ThresholdTests {
    private static let measurements: LoadMeasurements = {
        var measurements = LoadMeasurements()
        for milliseconds in 1...1000 { measurements.response.record(Int64(milliseconds) * 1_000_000) }
        (measurements.counts.intended, measurements.counts.answered) = (2000, 1000)
        (measurements.counts.failed, measurements.counts.timedOut, measurements.counts.unsent) = (5, 3, 2)
        (measurements.counts.outcomes[LoadOutcome.shed.index], measurements.seconds) = (20, 4)
        return measurements
    }()

    @Test(arguments: [
        ("p99<1s", 990.2, true), ("p99 < 990ms", 990.2, false), ("p50<=501ms", 500.2, true),
        ("p50>600ms", 500.2, false),
        ("p99.9>=900000us", 999.4, true), ("p100<=1001ms", 1000, true), ("mean<501ms", 500.5, true),
        ("max<1s", 1000, false), ("errors<=0.5%", 0.5, true), ("errors<0.5%", 0.5, false), ("errors<0.006", 0.5, true),
        ("shed<1%", 1, false), ("shed<2%", 1, true), ("undecided<=0%", 0, true), ("rate>=250", 250, true),
        ("rate>0.3k", 250, false),
    ])
    func `thresholds are compared in their unit`(expression: String, measured: Double, isMet: Bool) throws {
        let threshold = try #require(Threshold(argument: expression))
        let result = threshold.check(Self.measurements)
        #expect(abs(try #require(result.measured) - measured) <= measured / 1000)
        #expect(result.met == isMet)
        #expect(result.expression == expression.filter { $0 != " " })
    }

    @Test(arguments: [
        "", "p99", "p99<", "p99<25", "p99=25ms", "<25ms", "p<25ms", "p101<1ms", "q99<1ms", "p99<-1ms", "p99<1ms,",
        "rate<1ms",
        "errors<1ms", "p99<1e3ms", "p99<infms", "p99<<1ms", "rate>max", "p99<1min",
    ])
    func `what is no threshold is refused`(expression: String) {
        #expect(Threshold(argument: expression) == nil)
    }

    @Test func `what was not measured was not met`() throws {
        let threshold = try #require(Threshold(argument: "p99<1h"))
        let result = threshold.check(LoadMeasurements())
        #expect(result.measured == nil && !result.met)
        #expect(result.text == "p99 was not measured, wanted <1h")
    }

    @Test(arguments: [
        (false, 0, "p50<1s", RunResult.Verdict.passed, Int32(0)), (false, 0, "p50<1ms", .thresholdMissed, 99),
        (false, 21, "p50<1s", .generatorOverloaded, 98), (false, 21, "p50<1ms", .generatorOverloaded, 98),
        (true, 21, "p50<1ms", .interrupted, 130), (false, 20, "p50<1s", .passed, 0),
    ])
    func `the gravest decides`(
        wasInterrupted: Bool, late: Int, threshold: String, verdict: RunResult.Verdict, status: Int32
    ) throws {
        var measurements = Self.measurements
        measurements.counts.late = late
        let plan = LoadPlan(target: try LoadTarget("http://localhost"))
        let checked = try #require(Threshold(argument: threshold)).check(measurements)
        let judgement = Judgement(measurements, plan, [checked], wasInterrupted: wasInterrupted)
        #expect(judgement.verdict == verdict && verdict.exitStatus == status)
        #expect(judgement.reasons.isEmpty == (verdict == .passed))
    }
}
