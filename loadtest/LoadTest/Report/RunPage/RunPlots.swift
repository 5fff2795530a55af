// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

struct RunPlots: Sendable {
    let result: RunResult
    private let steps: TimeSteps
    private let time: Axis

    /// The number of rows of a table over time; programs read the JSON.
    static let rows = 60

    init(_ result: RunResult) {
        self.result = result
        steps = TimeSteps(result.timeline)
        let ends =
            result.marks.map(\.atSeconds) + result.metrics.compactMap(\.points.last?.x)
            + [result.plan.warmupSeconds + result.durationSeconds, Double((result.timeline.last?.second ?? 0) + 1)]
        time = .time(until: ends.max() ?? 1)
    }

    var percentiles: Plot {
        let series = [
            Plot.Series(name: "response", hue: .response, pieces: [result.response.percentiles]),
            Plot.Series(name: "service", hue: .service, pieces: [result.service.percentiles]),
        ]
        var plot = Self.percentiles("Latency by percentile", series, count: result.response.count, frame: .high)
        plot.caption =
            "Each step to the right is a tenth of the requests before it: at 99.9, one of a thousand waits longer."
        return plot
    }

    /// Latencies over percentiles, as HdrHistogram draws them.
    static func percentiles(_ heading: String, _ series: [Plot.Series], count: Int, frame: PlotFrame) -> Plot {
        Plot(
            name: "percentiles", heading: heading, x: .percentiles(of: count), y: .latencies(series.values),
            series: series, frames: [frame, .narrow])
    }

    // MARK: - Over time

    var rate: Plot {
        var plot = overTime(
            "rate", "Target and achieved rate", isRate: true,
            [
                target, Line("sent", .shed, .thin) { $0.average(\.sent) },
                Line("answered", .response) { $0.average(\.answered) }, Line("failed") { $0.average(\.failed) },
                Line("shed") { $0.average(\.shed) },
            ])
        guard steps.width > 1 else { return plot }
        plot.series.insert(Plot.Series(hue: .response, style: .band, pieces: [steps.spread]), at: 0)
        plot.caption += " The shade reaches from the slowest second to the fastest."
        return plot
    }

    var latency: Plot {
        overTime(
            "latency", "Response time", isRate: false,
            [
                Line("p50", .p50) { $0.worst(\.p50) }, Line("p90", .p90) { $0.worst(\.p90) },
                Line("p99", .p99) { $0.worst(\.p99) }, Line("max", .maximum, .thin) { $0.worst(\.maximum) },
            ])
    }

    var outcomes: Plot {
        let names = OutcomeNames.ordered(result.timeline.flatMap(\.ends.keys))
        let areas = zip(names, OutcomeNames.hues(for: names)).map { name, hue in
            Line(OutcomeNames.words(for: name), hue, .area) { $0.average { $0.ends[name, default: 0] } }
        }
        return overTime("outcomes-over-time", "Outcomes", isRate: true, areas + [target])
    }

    var sendLag: Plot {
        let lag = Line("p99", .lag) { $0.worst(\.sendLagP99) }
        var plot = overTime("send-lag", "Send lag", isRate: false, [lag])
        plot.frames = [.low, .narrow]
        return plot
    }

    private var target: Line { Line("target", .target, .target, \.target) }

    /// A column of a table over time; with a hue, also a series of its plot.
    private struct Line {
        let name: String
        let hue: Hue?
        let style: Plot.Style
        let figure: TimeSteps.Figure

        init(_ name: String, _ hue: Hue? = nil, _ style: Plot.Style = .line, _ figure: @escaping TimeSteps.Figure) {
            (self.name, self.hue, self.style, self.figure) = (name, hue, style, figure)
        }
    }

    /// Rates are averages, on levels; latencies are the worst of a step. Areas come first.
    private func overTime(_ name: String, _ heading: String, isRate: Bool, _ lines: [Line]) -> Plot {
        let outlines = steps.stacked(lines.filter { $0.style == .area }.map(\.figure))
        let series = lines.enumerated().compactMap { index, line in
            let pieces =
                outlines.indices.contains(index) ? [outlines[index]] : steps.pieces(isLevel: isRate, line.figure)
            return line.hue.map { Plot.Series(name: line.name, hue: $0, style: line.style, pieces: pieces) }
        }
        var plot = overTime(name, heading, isRate ? Axis.rates : Axis.latencies, series)
        plot.caption = steps.caption(isRate: isRate)
        plot.table = table(of: lines, isRate ? " /s" : " ms") { isRate ? 0 : max(1, $0.usefulDecimals) }
        return plot
    }

    /// Returns series over the time of the run, on an axis for their values.
    func overTime(_ name: String, _ heading: String, _ axis: ([Double]) -> Axis, _ series: [Plot.Series]) -> Plot {
        Plot(
            name: name, heading: heading, x: time, y: axis(series.values), series: series,
            warmup: result.plan.warmupSeconds, end: result.lastDue, marks: result.marks)
    }

    private func table(of lines: [Line], _ unit: String, decimals: (Double) -> Int) -> DataTable {
        let timeline = TimeSteps(result.timeline, atMost: Self.rows), width = timeline.width
        let rows = timeline.steps.map { step -> [HTML] in
            let figures = lines.map { $0.figure(step).map { $0.grouped(decimals($0)) } ?? "–" }
            return ([Int(step.start).grouped] + figures).map { .text($0) }
        }
        return DataTable(
            caption: width == 1 ? "Each second" : "Each \(width) seconds: counts on average, latencies at their worst",
            columns: ["second"] + lines.map { $0.name + unit }, words: [], rows: rows)
    }
}

extension [Plot.Series] {
    var values: [Double] { flatMap(\.values) }
}
