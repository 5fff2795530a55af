// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The plots of one run.
struct RunPlots: Sendable {
    let result: RunResult
    let steps: TimeSteps
    let time: Axis

    init(_ result: RunResult) {
        self.result = result
        steps = TimeSteps(result.timeline)
        time = .time(until: result.end)
    }

    /// How far one has to go to meet a wait so long.
    var percentiles: Figure {
        let named = [("response", Hue.response, result.response), ("service", Hue.service, result.service)]
        let plot = PercentilePlot.plot(named.map { ($0.0, $0.1, $0.2.percentiles) }, count: result.response.count)
        return Figure(
            name: "percentiles", heading: "Latency by percentile", plot: plot,
            legend: named.map { Figure.Entry(words: $0.0, hue: $0.1) },
            caption:
                "Each step to the right is a tenth of the requests before it: at 99.9, one of a thousand waits longer.",
            frames: [.most, .narrow], isFirst: true)
    }

    /// What was asked for and what came.
    var rate: Figure {
        let target = steps.levels(\.target), sent = steps.levels(\.sent), answered = steps.levels(\.answered)
        let values = (target + sent + answered).joined().map(\.y) + steps.steps.map(\.mostAnswered)
        var plot = overTime("Requests per second", .amounts(values, unit: "per second"))
        plot.summary = "Target, sent and answered requests per second: \(Self.range(answered, "answered"))."
        if steps.width > 1 { plot.areas = [spread] }
        plot.lines = [
            Plot.Line(hue: .shed, pieces: sent, isThin: true), Plot.Line(hue: .response, pieces: answered),
            Plot.Line(hue: .target, pieces: target, isDashed: true, isThin: true),
        ]
        let isOpen = result.plan.loop == .open
        return Figure(
            name: "rate", heading: "Target against achieved", plot: plot,
            legend: (isOpen ? [Figure.Entry(words: "target", hue: .target, isDashed: true)] : []) + [
                Figure.Entry(words: "sent", hue: .shed), Figure.Entry(words: "answered", hue: .response),
            ],
            caption: steps.width > 1
                ? "\(averages) The shade reaches from the slowest of its seconds to the fastest." : "",
            table: StepTable(result).rate, isFirst: true)
    }

    /// From the fewest answers of a step's seconds to the most.
    private var spread: Plot.Area {
        func edge(_ count: (TimeSteps.Step) -> Double) -> [RunResult.Point] {
            steps.steps.flatMap {
                [RunResult.Point(x: $0.start, y: count($0)), RunResult.Point(x: $0.end, y: count($0))]
            }
        }
        return Plot.Area(hue: .response, lower: edge(\.fewestAnswered), upper: edge(\.mostAnswered), isBand: true)
    }

    var latency: Figure {
        let figures: [(String, Hue, [[RunResult.Point]])] = [
            ("max", .maximum, steps.line(\.maximum)), ("p99", .p99, steps.line(\.p99)),
            ("p90", .p90, steps.line(\.p90)), ("p50", .p50, steps.line(\.p50)),
        ]
        var plot = overTime("Response time", .latencies(figures.flatMap { $0.2.joined().map(\.y) }))
        plot.summary =
            "Milliseconds for each second: " + figures.map { Self.range($0.2, $0.0) }.joined(separator: "; ") + "."
        plot.lines = figures.map { Plot.Line(hue: $0.1, pieces: $0.2, isThin: $0.0 == "max") }
        return Figure(
            name: "latency", heading: "Response time", plot: plot,
            legend: figures.map { Figure.Entry(words: $0.0, hue: $0.1) },
            caption: steps.width > 1 ? worst : "", table: StepTable(result).latency)
    }

    var outcomes: Figure {
        let names = OutcomeNames.ordered(steps.steps.flatMap(\.outcomeNames))
        let hues = OutcomeNames.hues(for: names)
        let stack = Stack(steps: steps, names: names)
        let target = steps.levels(\.target)
        var plot = overTime(
            "Outcomes per second", .amounts(stack.totals + target.joined().map(\.y), unit: "per second"))
        plot.summary =
            "Answers per second, stacked by outcome: " + names.map(OutcomeNames.words).joined(separator: ", ") + "."
        plot.areas = zip(hues, stack.layers).map { Plot.Area(hue: $0, lower: $1.lower, upper: $1.upper) }
        plot.lines = [Plot.Line(hue: .target, pieces: target, isDashed: true, isThin: true)]
        let entries = zip(names, hues).map { Figure.Entry(words: OutcomeNames.words(for: $0), hue: $1, isArea: true) }
        return Figure(
            name: "outcomes-over-time", heading: "Outcomes", plot: plot,
            legend: entries.reversed()
                + (target.isEmpty ? [] : [Figure.Entry(words: "target", hue: .target, isDashed: true)]),
            caption: steps.width > 1 ? averages : "", table: StepTable(result).outcomes(names))
    }

    var sendLag: Figure {
        let lag = steps.line(\.sendLagP99)
        var plot = overTime("Send lag", .latencies(lag.joined().map(\.y)))
        plot.summary = "How late requests were sent, 99th percentile of each second in ms: \(Self.range(lag, "p99"))."
        plot.lines = [Plot.Line(hue: .lag, pieces: lag)]
        return Figure(
            name: "send-lag", heading: "Send lag, p99 of each second", plot: plot,
            caption: steps.width > 1 ? worst : "")
    }

    // MARK: - What they share

    func overTime(_ title: String, _ y: Axis) -> Plot {
        Plot(
            title: title, summary: "", x: time, y: y, warmup: result.plan.warmupSeconds,
            end: result.lastDue, marks: result.marks)
    }

    private var averages: String { "Each step is the average of \(steps.width) seconds." }
    private var worst: String { "Each point is the worst of \(steps.width) seconds." }

    /// `p99 1.2 to 31`.
    static func range(_ pieces: [[RunResult.Point]], _ name: String) -> String {
        let values = pieces.joined().map(\.y)
        guard let lowest = values.min(), let highest = values.max() else { return "\(name) was not measured" }
        return "\(name) \(lowest.significant) to \(highest.significant)"
    }
}

extension RunResult {
    /// When the last thing happened that is drawn, in seconds.
    var end: Double {
        let moments =
            marks.map(\.atSeconds) + metrics.compactMap(\.points.last?.x) + [plan.warmupSeconds + durationSeconds]
        return (moments + [Double((timeline.last?.second ?? 0) + 1)]).max() ?? 1
    }
}
