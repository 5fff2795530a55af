// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Both runs in the same plots, from the end of their warm-ups.
struct ComparePlots: Sendable {
    private let a: RunResult
    private let b: RunResult
    private let stepsA: TimeSteps
    private let stepsB: TimeSteps
    private let time: Axis

    private static let legend = [
        Figure.Entry(words: "A", hue: .response), Figure.Entry(words: "B", hue: .service, isDashed: true),
    ]

    init(_ comparison: RunComparison) {
        a = comparison.a
        b = comparison.b
        let (secondsA, secondsB) = (MeasuredSeconds(a).seconds, MeasuredSeconds(b).seconds)
        // Steps of one length, or a peak of the longer run would look wider.
        let longest = [secondsA, secondsB].max { $0.count < $1.count } ?? []
        let width = TimeSteps(longest).width
        stepsA = TimeSteps(secondsA, width: width)
        stepsB = TimeSteps(secondsB, width: width)
        time = .time(until: max(stepsA.steps.last?.end ?? 1, stepsB.steps.last?.end ?? 1))
    }

    var percentiles: Figure {
        let plot = PercentilePlot.plot(
            [("A", .response, a.response.percentiles), ("B", .service, b.response.percentiles)],
            count: max(a.response.count, b.response.count))
        return Figure(
            name: "percentiles", heading: "Response time by percentile", plot: dashed(plot), legend: Self.legend,
            isFirst: true)
    }

    var answered: Figure {
        let lines = [stepsA, stepsB].map { $0.levels(\.answered) }
        return figure(
            "answered", "Answered", lines, .amounts(lines.joined().joined().map(\.y), unit: "per second"), averages)
    }

    func latency(_ name: String, _ value: (TimeSteps.Step) -> Double?) -> Figure {
        let lines = [stepsA, stepsB].map { $0.line(value) }
        return figure(name, "Response time, \(name)", lines, .latencies(lines.joined().joined().map(\.y)), worst)
    }

    var failed: Figure {
        let lines = [stepsA, stepsB].map { $0.levels { $0.failed + $0.shed } }
        return figure(
            "failed", "Failed and shed", lines, .amounts(lines.joined().joined().map(\.y), unit: "per second"), averages
        )
    }

    private func figure(
        _ name: String, _ heading: String, _ lines: [[[RunResult.Point]]], _ y: Axis, _ caption: String
    ) -> Figure {
        var plot = Plot(title: heading, summary: "", x: time, y: y)
        plot.summary = zip(["A", "B"], lines).map { RunPlots.range($1, $0) }.joined(separator: "; ") + "."
        plot.lines = zip([Hue.response, .service], lines).map { Plot.Line(hue: $0, pieces: $1) }
        plot.marks = marks
        return Figure(
            name: name, heading: heading, plot: dashed(plot), legend: Self.legend, caption: caption,
            table: Self.table(lines, y.unit))
    }

    /// The lines as rows: few enough to be read, of every so many steps.
    private static func table(_ lines: [[[RunResult.Point]]], _ unit: String) -> DataTable {
        let values = lines.map { Dictionary($0.joined().map { ($0.x, $0.y) }) { first, _ in first } }
        let moments = Set(values.flatMap(\.keys)).sorted()
        let every = max(1, (moments.count + StepTable.rows - 1) / StepTable.rows)
        let shown = moments.enumerated().filter { $0.offset % every == 0 }.map(\.element)
        return DataTable(
            caption: unit, columns: ["second", "A", "B"],
            rows: shown.map { moment in
                [.text(moment.plain)] + values.map { .text($0[moment]?.significant ?? "–") }
            })
    }

    /// B is dashed, for readers who see no colours.
    private func dashed(_ plot: Plot) -> Plot {
        var plot = plot
        plot.lines[1].isDashed = true
        return plot
    }

    /// Once where both runs had them.
    private var marks: [RunResult.Mark] {
        func moved(_ run: RunResult) -> [RunResult.Mark] {
            run.marks.filter { $0.atSeconds >= run.plan.warmupSeconds.rounded(.up) }.map { mark in
                RunResult.Mark(atSeconds: mark.atSeconds - run.plan.warmupSeconds.rounded(.up), text: mark.text)
            }
        }
        let (first, second) = (moved(a), moved(b))
        func named(_ mark: RunResult.Mark, _ run: String, unless others: [RunResult.Mark]) -> RunResult.Mark {
            others.contains(mark) ? mark : RunResult.Mark(atSeconds: mark.atSeconds, text: "\(run): \(mark.text)")
        }
        return first.map { named($0, "A", unless: second) }
            + second.filter { !first.contains($0) }.map { named($0, "B", unless: []) }
    }

    private var averages: String { stepsA.width > 1 ? "Each step is the average of \(stepsA.width) seconds." : "" }
    private var worst: String { stepsA.width > 1 ? "Each point is the worst of \(stepsA.width) seconds." : "" }
}
