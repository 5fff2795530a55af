// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

/// The live view of a run.
struct LiveTests {
    @Test func `a sparkline shows the last numbers beside the largest`() {
        #expect(Sparkline.text([0, 1, 2, 4, 8], width: 10) == "▁▂▃▅█")
        #expect(Sparkline.text([100, nil, 8], width: 2) == " █")
        #expect(Sparkline.text([0, 0], width: 5) == "▁▁" && Sparkline.text([], width: 5).isEmpty)
    }

    @Test(arguments: [
        ([1, 1, 1], 10, [4, 3, 3]), ([0, 5], 4, [0, 4]), ([0, 0], 4, [0, 0]), ([999, 1], 10, [10, 0]),
    ])
    func `a bar is as wide as it should be`(parts: [Int], width: Int, widths: [Int]) {
        #expect(ShareBar.widths(parts, width: width) == widths)
    }

    private static func view(colours: Bool) throws -> LiveView {
        var plan = LoadPlan(target: try LoadTarget("http://127.0.0.1:8080/v1/verify"))
        plan.schedule = LoadSchedule(
            curve: RateCurve(stages: [RateStage(from: 100, to: 100, seconds: 10)]), pattern: .constant, first: 100)
        var view = LiveView(
            plan: plan, marks: [RunResult.Mark(atSeconds: 1, text: "kill redis")], hasColours: colours, listens: true)
        for number in 0..<200 {
            var slice = SecondSlice(second: number)
            (slice.counts.answered, slice.counts.intended) = (90, 100)
            slice.counts.outcomes[LoadOutcome.hitNear.index] = 80
            slice.counts.outcomes[LoadOutcome.rejected.index] = 10
            slice.response.record(Int64(number) * 1_000_000)
            view.add(RunResult.Second(slice, target: 100), slice.counts)
        }
        return view
    }

    @Test(arguments: [40, 80, 200])
    func `no line is wider than the terminal`(width: Int) throws {
        let lines = try Self.view(colours: false).lines(width: width)
        #expect(lines.count == 9)
        for line in lines { #expect(line.count <= width, "\(line)") }
    }

    @Test func `the view says what happens`() throws {
        let text = try Self.view(colours: false).lines(width: 100).joined(separator: "\n")
        for word in ["hit_near 88.9 %", "rejected 11.1 %", "target 100/s", "q stops", "1 s: kill redis", "199."] {
            #expect(text.contains(word), "\(word)")
        }
        #expect(!text.contains("\u{1B}"))
    }

    @Test func `every colour is ended on its line`() throws {
        for line in try Self.view(colours: true).lines(width: 80) {
            #expect(line.split(separator: "\u{1B}[0m").count >= 1)
            let codes = line.matches(of: /\u{1B}\[(\d+)m/).map(\.output.1)
            #expect(
                codes.count.isMultiple(of: 2)
                    && codes.enumerated().allSatisfy { ($0.offset % 2 == 1) == ($0.element == "0") })
        }
    }
}
