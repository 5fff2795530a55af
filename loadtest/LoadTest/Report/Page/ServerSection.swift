// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What the server said of itself meanwhile, on the same time axis.
struct ServerSection: Sendable {
    private let result: RunResult
    private let plots: RunPlots

    /// Plots on a page, and lines in a plot; the rest is in the JSON.
    static let maximumPlots = 24
    static let maximumLines = 8

    init(_ result: RunResult, _ plots: RunPlots) {
        self.result = result
        self.plots = plots
    }

    var markup: Markup {
        guard !groups.isEmpty else { return .nothing }
        let omitted = groups.count - Self.maximumPlots
        return Page.section(
            "server", "The server meanwhile",
            Page.note(
                "What was scraped from it, on the time axis of the other plots; counters as rates."
                    + (omitted > 0 ? " \(omitted.grouped) more metrics are in the JSON only." : "")),
            .tag("div", ["class": "pair"], groups.prefix(Self.maximumPlots).enumerated().map(figure).group))
    }

    /// Series of one name and kind, in the order they were first met.
    private var groups: [[RunResult.Series]] {
        var order: [String] = [], groups: [String: [RunResult.Series]] = [:]
        for series in result.metrics {
            let key = "\(series.name) \(series.kind)"
            if groups[key] == nil { order.append(key) }
            groups[key, default: []].append(series)
        }
        return order.compactMap { groups[$0] }
    }

    private func figure(_ index: Int, _ group: [RunResult.Series]) -> Markup {
        let lines = group.prefix(Self.maximumLines).map { (series: $0, points: MetricRates.points(of: $0)) }
        let words = group.first.map { MetricRates.words(for: $0.name) } ?? ""
        let unit = group.first.map(MetricRates.unit) ?? ""
        var plot = plots.overTime(words, .amounts(lines.flatMap { $0.points.map(\.y) }, unit: unit))
        plot.summary =
            zip(lines, names(of: group)).map { RunPlots.range([$0.points], $1) }.joined(separator: "; ") + "."
        plot.lines = lines.enumerated().map { Plot.Line(hue: Self.hue($0), pieces: [$1.points]) }
        let omitted = group.count - Self.maximumLines
        return Figure(
            name: "metric-\(index)", heading: words, plot: plot,
            legend: zip(names(of: group), lines.indices).compactMap { name, index in
                name.isEmpty ? nil : Figure.Entry(words: name, hue: Self.hue(index))
            },
            caption: ([common(to: group)]
                + (omitted > 0 ? ["\(omitted.grouped) more of these are in the JSON only."] : []))
                .filter { !$0.isEmpty }.joined(separator: " "),
            table: table(of: lines.map { $0 }, names(of: group), unit), frames: [.half, .narrow], isFirst: true
        ).markup
    }

    private static func hue(_ index: Int) -> Hue { Hue.others[index % Hue.others.count] }

    /// A table of ranges: the course of a metric is in the JSON.
    private func table(
        of lines: [(series: RunResult.Series, points: [RunResult.Point])], _ names: [String], _ unit: String
    ) -> DataTable {
        DataTable(
            caption: unit, columns: [.word("labels"), "lowest", "average", "highest", "last"],
            rows: zip(lines, names).map { line, name in
                let values = line.points.map(\.y)
                let average = values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
                return [.text(name.isEmpty ? "all" : name)]
                    + [values.min(), average, values.max(), values.last].map { .text($0?.significant ?? "–") }
            })
    }

    /// Labels that all of a group have, such as a state.
    private func common(to group: [RunResult.Series]) -> String {
        let labels =
            group.first?.labels.filter { label in group.allSatisfy { $0.labels[label.key] == label.value } } ?? [:]
        let words = labels.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        return words.isEmpty ? "" : words + "."
    }

    /// What tells the series of a group apart: labels whose values differ.
    private func names(of group: [RunResult.Series]) -> [String] {
        let labels = Set(group.flatMap(\.labels.keys)).sorted()
        let telling = labels.filter { label in Set(group.map { $0.labels[label] ?? "" }).count > 1 }
        return group.map { series in
            telling.compactMap { label in
                series.labels[label].map { telling.count == 1 ? $0 : "\(label) \($0)" }
            }.joined(separator: ", ")
        }
    }
}
