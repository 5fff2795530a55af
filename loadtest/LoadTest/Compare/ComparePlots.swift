// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Two runs in the same plots, from the end of their warm-ups.
struct ComparePlots: Sendable {
    private let comparison: RunComparison
    private let steps: [TimeSteps]

    init(_ comparison: RunComparison) {
        self.comparison = comparison
        let seconds = comparison.runs.map { MeasuredSeconds($0.run).seconds }
        // Steps of one length: a peak of the longer run would look wider.
        let width = seconds.map { TimeSteps($0).width }.max() ?? 1
        steps = seconds.map { TimeSteps($0, width: width) }
    }

    var percentiles: Plot {
        let runs = comparison.runs.map(\.run.response)
        return RunPlots.percentiles(
            "Response time by percentile", series(runs.map { [$0.percentiles] }),
            count: runs.map(\.count).max() ?? 0, frame: .wide)
    }

    var overTime: [Plot] {
        var answered = plot("answered", "Answered", isRate: true) { $0.average(\.answered) }
        answered.isFirst = true
        return [
            answered, plot("p50", "Response time, p50", isRate: false) { $0.worst(\.p50) },
            plot("p99", "Response time, p99", isRate: false) { $0.worst(\.p99) },
            plot("max", "Response time, max", isRate: false) { $0.worst(\.maximum) },
            plot("failed", "Failed and shed", isRate: true) { $0.average { $0.failed + $0.shed } },
        ]
    }

    private func plot(_ name: String, _ heading: String, isRate: Bool, _ figure: TimeSteps.Figure) -> Plot {
        let lines = steps.map { $0.pieces(isLevel: isRate, figure) }, series = series(lines)
        let y = isRate ? Axis.rates(series.values) : .latencies(series.values)
        let end = steps.compactMap(\.steps.last?.end).max() ?? 1
        return Plot(
            name: name, heading: heading, x: .time(until: end), y: y, series: series,
            caption: steps[0].caption(isRate: isRate), table: Self.table(lines, y.unit), marks: marks)
    }

    /// B is dashed, for readers who see no colours.
    private func series(_ lines: [[[RunResult.Point]]]) -> [Plot.Series] {
        [
            Plot.Series(name: "A", hue: .response, pieces: lines[0]),
            Plot.Series(name: "B", hue: .service, style: .dashed, pieces: lines[1]),
        ]
    }

    /// Rows of every so many points, few enough to be read.
    private static func table(_ lines: [[[RunResult.Point]]], _ unit: String) -> DataTable {
        let values = lines.map { Dictionary($0.joined().map { ($0.x, $0.y) }) { first, _ in first } }
        let moments = Set(values.flatMap(\.keys)).sorted()
        let every = max(1, (moments.count + RunPlots.rows - 1) / RunPlots.rows)
        let rows = stride(from: 0, to: moments.count, by: every).map { index -> [HTML] in
            [.text(moments[index].plain)] + values.map { .text($0[moments[index]]?.significant ?? "–") }
        }
        return DataTable(caption: unit, columns: ["second", "A", "B"], words: [], rows: rows)
    }

    /// Marks of both runs; those of one run have its name.
    private var marks: [RunResult.Mark] {
        let marks = comparison.runs.map { _, run in
            let warmup = run.plan.warmupSeconds.rounded(.up)
            return run.marks.filter { $0.atSeconds >= warmup }
                .map { RunResult.Mark(atSeconds: $0.atSeconds - warmup, text: $0.text) }
        }
        func named(_ mark: RunResult.Mark, _ run: String) -> RunResult.Mark {
            RunResult.Mark(atSeconds: mark.atSeconds, text: "\(run): \(mark.text)")
        }
        return marks[0].map { marks[1].contains($0) ? $0 : named($0, "A") }
            + marks[1].filter { !marks[0].contains($0) }.map { named($0, "B") }
    }
}
