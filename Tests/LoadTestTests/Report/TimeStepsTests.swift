// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

struct TimeStepsTests {
    private static func second(_ second: Int, answered: Int = 0, p99: Double? = nil) -> RunResult.Second {
        RunResult.Second(
            second: second, target: 10, sent: answered, answered: answered, p99: p99, outcomes: ["local": answered])
    }

    @Test func `a short run keeps its seconds`() {
        let steps = TimeSteps((0..<600).map { Self.second($0, answered: $0) })
        #expect(steps.width == 1 && steps.steps.count == 600)
        #expect(steps.steps[599].average(\.answered) == 599 && steps.steps[599].start == 599)
    }

    @Test func `an hour is thinned to averages of counts and the worst of latencies`() {
        let steps = TimeSteps((0..<3600).map { Self.second($0, answered: $0 % 10, p99: $0 == 1234 ? 900 : 1) })
        #expect(steps.width == 10 && steps.steps.count == 360)
        #expect(steps.steps.allSatisfy { $0.average(\.answered) == 4.5 && $0.target == 10 })
        #expect(steps.steps.allSatisfy { $0.average { $0.ends["local", default: 0] } == 4.5 })
        #expect(Set(steps.spread.prefix(720).map(\.y)) == [9] && Set(steps.spread.suffix(720).map(\.y)) == [0])
        #expect(steps.steps.map { $0.worst(\.p99) }.enumerated().filter { $0.element == 900 }.map(\.offset) == [123])
    }

    @Test func `a step that the end cut short is averaged over what there was`() {
        let steps = TimeSteps((0..<25).map { Self.second($0, answered: 6) }, width: 10)
        #expect(steps.steps.map { $0.average(\.answered) } == [6, 6, 6])
        #expect(steps.steps.map { $0.end - $0.start } == [10, 10, 5])
    }

    @Test func `a line breaks where nothing was measured`() {
        let steps = TimeSteps([Self.second(0, p99: 1), Self.second(1, p99: 2), Self.second(2), Self.second(3, p99: 4)])
        #expect(
            steps.pieces(isLevel: false) { $0.worst(\.p99) } == [
                [RunResult.Point(x: 0.5, y: 1), RunResult.Point(x: 1.5, y: 2)], [RunResult.Point(x: 3.5, y: 4)],
            ])
        let gap = TimeSteps([Self.second(0, p99: 1), Self.second(5, p99: 2)])
        #expect(gap.pieces(isLevel: true) { $0.worst(\.p99) }.count == 2)
    }

    @Test func `layers stand upon each other and fall to nothing where a second is missing`() {
        var first = Self.second(0), second = Self.second(2)
        (first.outcomes, second.outcomes) = (["local": 2, "shed": 1], ["shed": 4])
        let outlines = TimeSteps([first, second]).stacked(
            ["local", "shed"].map { name in { $0.average { $0.ends[name, default: 0] } } })
        #expect(outlines[1].prefix(6).map(\.y) == [3, 3, 0, 0, 4, 4])
        #expect(outlines[1].suffix(6).reversed().map(\.y) == [2, 2, 0, 0, 0, 0])
    }

    @Test func `a counter is drawn as its rate, and begins anew when the server did`() {
        let points = [(0.0, 100.0), (1, 150), (3, 250), (4, 30)].map { RunResult.Point(x: $0, y: $1) }
        #expect(MetricRates.rates(points) == [(0.5, 50.0), (2, 50), (3.5, 30)].map { RunResult.Point(x: $0, y: $1) })
        #expect(MetricRates.rates([]) == [] && MetricRates.rates([points[0]]) == [])
    }

    @Test func `the table of a long run can be read`() {
        var result = SampleRun(seconds: 1, warmup: 0).result()
        result.timeline = (0..<3600).map { Self.second($0) }
        #expect(RunPlots(result).rate.table?.rows.count == 60)
        #expect(
            RunPlots(result).latency.table?.caption == "Each 60 seconds: counts on average, latencies at their worst")
    }
}
