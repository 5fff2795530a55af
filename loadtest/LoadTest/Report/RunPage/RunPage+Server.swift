// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RunPage {
    /// The number of plots on a page, and of lines in a plot; the rest is in the JSON only.
    private static let maximumPlots = 24
    private static let maximumLines = 8

    /// The metrics that were scraped from the server, on the time axis of the run.
    var server: HTML? {
        let groups = groups, omitted = groups.count - Self.maximumPlots
        guard !groups.isEmpty else { return nil }
        return Page.section(
            "server", "Server metrics",
            Page.note(
                """
                Scraped from the server, on the time axis of the other plots; counters as rates.\
                \(omitted > 0 ? " \(omitted.grouped) more metrics are in the JSON only." : nil)
                """),
            "<div class=\"pair\">\(groups.prefix(Self.maximumPlots).enumerated().map { plot($0, $1).html })</div>")
    }

    /// Series of one name and kind, in the order of their first series.
    private var groups: [[RunResult.Series]] {
        result.metrics.reduce(into: []) { groups, series in
            if let index = groups.firstIndex(where: { $0[0].name == series.name && $0[0].kind == series.kind }) {
                groups[index].append(series)
            } else {
                groups.append([series])
            }
        }
    }

    private func plot(_ index: Int, _ group: [RunResult.Series]) -> Plot {
        let lines = zip(names(of: group), group).prefix(Self.maximumLines).enumerated().map { index, line in
            Plot.Series(
                name: line.0, hue: Hue.others[index % Hue.others.count], pieces: [MetricRates.points(of: line.1)])
        }
        let series = group[0],
            unit = [series.unit, series.kind == .counter ? "per second" : nil]
                .compactMap(\.self).joined(separator: " ")
        var plot = plots.overTime(
            "metric-\(index)", MetricRates.words(for: series.name), { .amounts($0, unit: unit) }, lines)
        let omitted = group.count - Self.maximumLines
        plot.caption = [common(to: group), omitted > 0 ? "\(omitted.grouped) more of these are in the JSON only." : ""]
            .filter { !$0.isEmpty }.joined(separator: " ")
        // The course of a metric is in the JSON.
        plot.table = DataTable(
            caption: unit, columns: ["labels", "lowest", "average", "highest", "last"],
            rows: lines.map { line in
                let values = [line].values
                let average = values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
                return [.text(line.name.isEmpty ? "all" : line.name)]
                    + [values.min(), average, values.max(), values.last].map { .text($0?.significant ?? "–") }
            })
        plot.frames = [.half, .narrow]
        return plot
    }

    /// Labels with one value in all series of a group, such as a state.
    private func common(to group: [RunResult.Series]) -> String {
        let labels = group[0].labels.filter { label in group.allSatisfy { $0.labels[label.key] == label.value } }
        let words = labels.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        return words.isEmpty ? "" : words + "."
    }

    private func names(of group: [RunResult.Series]) -> [String] {
        let labels = Set(group.flatMap(\.labels.keys)).sorted()
        let distinct = labels.filter { label in Set(group.map { $0.labels[label] ?? "" }).count > 1 }
        return group.map { series in
            distinct.compactMap { label in
                series.labels[label].map { distinct.count == 1 ? $0 : "\(label) \($0)" }
            }.joined(separator: ", ")
        }
    }
}

/// The points and names with which metrics are drawn: counters as rates, all other metrics as they are.
enum MetricRates {
    private static let maximumPoints = 300

    /// Returns points in as many steps as can be distinguished; a step of several points is their average.
    static func points(of series: RunResult.Series) -> [RunResult.Point] {
        let points = series.kind == .counter ? rates(series.points) : series.points
        let size = max(1, (points.count + maximumPoints - 1) / maximumPoints)
        return stride(from: 0, to: points.count, by: size).map { start in
            let part = points[start..<min(start + size, points.count)], count = Double(part.count)
            return RunResult.Point(x: part.map(\.x).reduce(0, +) / count, y: part.map(\.y).reduce(0, +) / count)
        }
    }

    /// Returns the rate per second between two scrapes. A lower count starts from 0: the server was restarted.
    static func rates(_ points: [RunResult.Point]) -> [RunResult.Point] {
        zip(points, points.dropFirst()).compactMap { before, after in
            let rate = (after.y >= before.y ? after.y - before.y : after.y) / (after.x - before.x)
            return rate.isFinite ? RunResult.Point(x: (before.x + after.x) / 2, y: rate) : nil
        }
    }

    /// Returns `gateway cache lookups` for `gateway_cache_lookups_total`.
    static func words(for name: String) -> String {
        var words = name.split(separator: "_")
        if words.count > 1, words.last == "total" { words.removeLast() }
        return words.joined(separator: " ")
    }
}
