// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What is drawn of a server's metric: a counter as its rate, everything else as it is.
enum MetricRates {
    /// Points in as many steps as can be seen apart, each of several the average of theirs.
    static func points(of series: RunResult.Series, atMost most: Int = 300) -> [RunResult.Point] {
        thinned(series.kind == .counter ? rates(series.points) : series.points, atMost: most)
    }

    /// Each second between two looks, at the moment between them. A count that fell begins anew: the server was started
    /// again, and what it counted since is its count.
    static func rates(_ points: [RunResult.Point]) -> [RunResult.Point] {
        zip(points, points.dropFirst()).compactMap { before, after in
            let rate = (after.y >= before.y ? after.y - before.y : after.y) / (after.x - before.x)
            return rate.isFinite ? RunResult.Point(x: (before.x + after.x) / 2, y: rate) : nil
        }
    }

    private static func thinned(_ points: [RunResult.Point], atMost most: Int) -> [RunResult.Point] {
        let size = (points.count + most - 1) / most
        guard size > 1 else { return points }
        return stride(from: 0, to: points.count, by: size).map { start in
            let part = points[start..<min(start + size, points.count)]
            let count = Double(part.count)
            return RunResult.Point(x: part.map(\.x).reduce(0, +) / count, y: part.map(\.y).reduce(0, +) / count)
        }
    }

    /// `gateway_cache_lookups_total` as `gateway cache lookups`.
    static func words(for name: String) -> String {
        var words = name.split(separator: "_")
        if words.count > 1, words.last == "total" { words.removeLast() }
        return words.joined(separator: " ")
    }

    /// What its numbers are: `per second`, `bytes`.
    static func unit(of series: RunResult.Series) -> String {
        let unit = series.unit ?? ""
        return series.kind == .counter ? unit.isEmpty ? "per second" : "\(unit) per second" : unit
    }
}
