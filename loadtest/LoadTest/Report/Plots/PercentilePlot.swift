// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Latencies over percentiles, as HdrHistogram draws them.
enum PercentilePlot {
    typealias Point = RunResult.Point

    /// Lines of so many requests each, at most.
    static func plot(_ lines: [(name: String, hue: Hue, points: [Point])], count: Int) -> Plot {
        let x = Axis.percentiles(of: count)
        let y = Axis.latencies(lines.flatMap { $0.points.map(\.y) })
        var plot = Plot(title: "Latency by percentile", summary: "", x: x, y: y)
        plot.summary = lines.map { summary($0.name, $0.points) }.joined(separator: "; ") + "."
        plot.lines = lines.map { Plot.Line(hue: $0.hue, pieces: [visible($0.points, x.scale)]) }
        return plot
    }

    /// Points that fall within the width of a line of the last one kept are left out; the last one stays.
    static func visible(_ points: [Point], _ scale: Scale) -> [Point] {
        var kept: [Point] = [], column = -1
        for point in points {
            let next = Int(scale.fraction(of: point.x) * 600)
            if next == column, !kept.isEmpty { kept.removeLast() }
            kept.append(point)
            column = next
        }
        return kept
    }

    private static func summary(_ name: String, _ points: [Point]) -> String {
        let named = [50.0, 90, 99, 99.9, 99.99].compactMap { percentile in
            points.first { $0.x >= percentile }.map { "\(percentile.compact) % within \($0.y.significant) ms" }
        }
        return named.isEmpty ? "\(name) was not measured" : "\(name): " + named.joined(separator: ", ")
    }
}
