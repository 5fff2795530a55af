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

/// A timeline in steps of one or more seconds, few enough to be distinguished on a page.
struct TimeSteps: Sendable {
    let width: Int
    let steps: [Step]

    typealias Point = RunResult.Point
    typealias Figure = (Step) -> Double?
    private static let widths = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600]

    init(_ timeline: [RunResult.Second], atMost most: Int = 600) {
        let seconds = (timeline.last?.second ?? -1) + 1
        self.init(timeline, width: Self.widths.first { (seconds + $0 - 1) / $0 <= most } ?? max(1, seconds / most + 1))
    }

    init(_ timeline: [RunResult.Second], width: Int) {
        self.width = width
        let end = (timeline.last?.second ?? -1) + 1
        let groups = Dictionary(grouping: timeline) { $0.second / width }.sorted { $0.key < $1.key }
        steps = groups.map { number, seconds in
            Step(start: Double(number * width), end: Double(min((number + 1) * width, end)), seconds: seconds)
        }
    }

    struct Step: Sendable {
        let start: Double
        /// The last step of a run may be shorter.
        let end: Double
        let seconds: [RunResult.Second]

        func average(_ count: (RunResult.Second) -> Int) -> Double {
            Double(seconds.map(count).reduce(0, +)) / (end - start)
        }

        /// Returns the highest figure, so that no peak is lost.
        func worst(_ figure: (RunResult.Second) -> Double?) -> Double? { seconds.compactMap(figure).max() }

        /// The average target per second; nil in a closed loop.
        var target: Double? {
            let targets = seconds.compactMap(\.target)
            return targets.isEmpty ? nil : targets.reduce(0, +) / (end - start)
        }
    }
}

extension RunResult.Second {
    /// Requests by outcome; if the server sent none, by whether it answered.
    var ends: [String: Int] {
        outcomes.isEmpty
            ? ["answered": answered, "failed": failed, "shed": shed].filter { $0.value > 0 } : outcomes
    }
}

// MARK: - Points

extension TimeSteps {
    func caption(isRate: Bool) -> String {
        width == 1 ? "" : "Each \(isRate ? "step is the average" : "point is the worst") of \(width) seconds."
    }

    /// Returns a level for each step, or a point in its middle, with a gap where nothing was measured.
    func pieces(isLevel: Bool, _ figure: Figure) -> [[Point]] {
        var pieces: [[Point]] = [], end: Double?
        for step in steps {
            let moments = isLevel ? [step.start, step.end] : [(step.start + step.end) / 2]
            let points = figure(step).map { value in moments.map { Point(x: $0, y: value) } }
            if let points, end == step.start {
                pieces[pieces.count - 1] += points
            } else if let points {
                pieces.append(points)
            }
            end = points == nil ? nil : step.end
        }
        return pieces
    }

    /// Returns the outlines of areas stacked upon each other.
    func stacked(_ figures: [Figure]) -> [[Point]] {
        var floors = steps.map { _ in 0.0 }
        return figures.map { figure in
            let tops = zip(floors, steps).map { $0 + (figure($1) ?? 0) }
            defer { floors = tops }
            return edge(tops) + edge(floors).reversed()
        }
    }

    /// The outline of the area between the fewest answers of a step's seconds and the most.
    var spread: [Point] {
        let answered = steps.map { $0.seconds.map { Double($0.answered) } }
        return edge(answered.map { $0.max() ?? 0 }) + edge(answered.map { $0.min() ?? 0 }).reversed()
    }

    /// Returns a level for each step; where a step is missing, it falls to 0.
    private func edge(_ heights: [Double]) -> [Point] {
        var points: [Point] = []
        for (height, step) in zip(heights, steps) {
            if let last = points.last, last.x < step.start {
                points += [Point(x: last.x, y: 0), Point(x: step.start, y: 0)]
            }
            points += [Point(x: step.start, y: height), Point(x: step.end, y: height)]
        }
        return points
    }
}
