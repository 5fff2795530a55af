// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The handful of numbers one wants first.
struct KeyFigures: Sendable {
    private let result: RunResult

    init(_ result: RunResult) {
        self.result = result
    }

    var markup: Markup {
        .tag(
            "section", ["class": "tiles", "aria-label": "Key figures"], .tag("dl", ["class": "tiles-list"], tiles.group)
        )
    }

    private var tiles: [Markup] {
        let response = result.response, service = result.service
        return [
            tile(
                "Answered", "totals.achieved_per_second", result.totals.achievedPerSecond, "/s",
                result.totals.targetPerSecond.map { "of \($0.rateText) wanted" } ?? "in a closed loop"),
            latency("Median response", "response.p50_ms", response.p50, service.p50),
            latency("p99 response", "response.p99_ms", response.p99, service.p99),
            latency("Slowest response", "response.max_ms", response.maximum, service.maximum),
            share("Failed", "totals.failed", result.totals.failed, result.totals.unanswered),
            share("Shed", "totals.shed", result.totals.shed, 0),
        ]
    }

    private func latency(_ name: String, _ path: String, _ figure: Double?, _ service: Double?) -> Markup {
        let aside = service.map { "service \($0.significant) ms" } ?? "nothing was answered"
        return tile(name, path, figure, "ms", aside)
    }

    private func tile(_ name: String, _ path: String, _ number: Double?, _ unit: String, _ aside: String) -> Markup {
        let text = path.hasPrefix("totals") ? number?.rateText : number?.significant
        return .tag(
            "div", ["class": "tile"], .tag("dt", [:], .text(name)),
            .tag(
                "dd", [:],
                .tag(
                    "div", ["class": "figure"], .value(path, number, text ?? "–"),
                    .tag("span", ["class": "unit"], .text(number == nil ? "" : " \(unit)"))),
                .tag("div", ["class": "aside"], .text(aside))))
    }

    /// Requests that ended badly, as a share of all that were sent.
    private func share(_ name: String, _ path: String, _ count: Int, _ unanswered: Int) -> Markup {
        let sent = result.totals.sent, all = count + unanswered
        let percent = sent > 0 ? (Double(all) / Double(sent)).percentText : "–"
        let more: Markup =
            unanswered > 0 ? [" and ", .count("totals.unanswered", unanswered), " unanswered"] : .nothing
        return .tag(
            "div", ["class": "tile"], .tag("dt", [:], .text(name)),
            .tag(
                "dd", [:], .tag("div", ["class": "figure"], .text(percent)),
                .tag("div", ["class": "aside"], .count(path, count), more, " of ", .count("totals.sent", sent))))
    }
}

extension Markup {
    /// A whole number and its place in the result.
    static func count(_ path: String, _ count: Int) -> Markup {
        .tag("data", ["data-path": path, "value": "\(count)"], .text(count.grouped))
    }
}

extension Double {
    /// Requests per second: no decimals from 100 on.
    var rateText: String { magnitude >= 100 ? grouped(0) : significant }
}
