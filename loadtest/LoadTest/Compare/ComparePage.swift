// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

struct ComparePage: Sendable {
    let comparison: RunComparison

    func html() throws -> String {
        let plots = ComparePlots(comparison)
        let json = try JSONOutput.compact(ComparisonReport(comparison))
        let plan = table("plan", comparison.planDifferences, none: "Both runs had the same plan.")
        let environment = table(
            "environment", comparison.environmentDifferences, none: "Both ran in the same environment.")
        return Page.html(
            title: comparison.headline,
            """
            \(header)\(figures)
            \(Page.section("latency-section", "Latency", plots.percentiles.html))
            \(Page.section("time", "Over time, from the end of the warm-up", "\(plots.overTime.map(\.html))"))
            \(Page.section("plans", "Plan and environment", plan, environment))
            <script type="application/json" id="comparison">\(json: json)</script>
            <footer>receipt-loadtest · the element script#comparison holds the numbers of this page as JSON</footer>
            """)
    }

    private var header: HTML {
        let isQuiet = comparison.warnings.isEmpty && comparison.events.isEmpty
        let look: (style: HTML, sign: HTML) =
            !comparison.regressions.isEmpty ? ("bad", "✕") : isQuiet ? ("good", "✓") : ("caution", "!")
        let runs = comparison.runs.map { name, run -> HTML in
            """
            <p class="lead"><strong>\(name)</strong>: \(run.plan.title), \
            <span class="whole">\(run.startedAt.description)</span>. \(run.sentence)</p>

            """
        }
        return Page.header(
            "Two load tests compared", style: look.style, sign: look.sign, comparison.headline,
            reasons: comparison.warnings, "\(runs)")
    }

    private var figures: HTML {
        let rows = comparison.figures.enumerated().map { index, figure -> [HTML] in
            let path = "figures.\(index)", look = figure.judgement.look
            return [
                .text(figure.unit.isEmpty ? figure.name : "\(figure.name), \(figure.unit)"),
                "<span class=\"\(look.style)\">\(look.sign)\(figure.judgement.words.lowercased())</span>",
                .value("\(path).a", figure.a), .value("\(path).b", figure.b),
                .value("\(path).ratio", figure.ratio) { $0.fixed(2) }, .text(figure.intervalText ?? "–"),
            ]
        }
        let columns = ["figure", "verdict", "A", "B", "B / A", "typical second"]
        return Page.section(
            "figures", "Differences", DataTable(columns: columns, words: [0, 1], rows: rows).html,
            Page.note(
                """
                “Typical second” is the range of the difference between B's typical second and A's: the median for \
                latencies, the mean for rates and shares, in \(NoiseRule.draws.grouped) draws of blocks of seconds, \
                without a thousandth of the draws at each end. A difference counts if its range lies on one side of 0, \
                and if it is at least 5 % (for shares of requests: 0.1 points). “In few seconds” means that the runs \
                differ, and most of their seconds do not. The warm-up does not count. No pair of runs shows what \
                changes from run to run: repeat both before you rely on a difference.
                """))
    }

    private func table(_ name: String, _ differences: [RunComparison.Difference], none: HTML) -> HTML {
        guard !differences.isEmpty else { return Page.note(none) }
        let rows = differences.map { [$0.name, $0.a, $0.b].map { HTML.text($0.isEmpty ? "–" : $0) } }
        return DataTable(columns: [name, "A", "B"], words: [0, 1, 2], rows: rows, isSnug: true).html
    }
}

extension NoiseRule.Judgement {
    fileprivate var look: (style: HTML, sign: HTML) {
        switch self {
        case .worse: ("bad", "✕ ")
        case .better: ("good", "✓ ")
        case .withinNoise: ("ink", "")
        case .fewSeconds: ("caution", "! ")
        case .tooFewSeconds, .notJudged: ("none", "")
        }
    }
}

/// Two runs in the same plots, from the end of their warm-ups.
struct ComparePlots: Sendable {
    private let comparison: RunComparison
    private let steps: [TimeSteps]

    init(_ comparison: RunComparison) {
        self.comparison = comparison
        let seconds = comparison.runs.map { $0.run.measuredSeconds }
        // Steps of one length: a peak of the longer run would look wider.
        let width = seconds.map { TimeSteps($0).width }.max() ?? 1
        steps = seconds.map { TimeSteps($0, width: width) }
    }

    var percentiles: Plot {
        let runs = comparison.runs.map(\.run.response), series = series(runs.map { [$0.percentiles] })
        return RunPlots.percentiles(
            "Response time by percentile", series, count: runs.map(\.count).max() ?? 0, frame: .wide)
    }

    var overTime: [Plot] {
        [
            plot("answered", "Answered", isRate: true) { $0.average(\.answered) },
            plot("p50", "Response time, p50", isRate: false) { $0.worst(\.p50) },
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

    /// Marks of both runs; a mark of one run alone has the run's name.
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
