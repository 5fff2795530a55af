// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How requests ended, and how long each way takes.
struct OutcomeSection: Sendable {
    private let result: RunResult

    init(_ result: RunResult) {
        self.result = result
    }

    var markup: Markup {
        Page.section(
            "outcomes", "Outcomes", result.outcomes.isEmpty ? Page.note("Nothing was answered.") : outcomes,
            .tag("div", ["class": "pair"], statuses, errors), traffic)
    }

    private var outcomes: Markup {
        let all = result.outcomes.map(\.count).reduce(0, +)
        let names = OutcomeNames.ordered(result.outcomes.map(\.outcome))
        let hues = Dictionary(zip(names, OutcomeNames.hues(for: names)), uniquingKeysWith: { first, _ in first })
        let decimals = result.response.decimals
        let rows = result.outcomes.enumerated().map { index, outcome -> [Markup] in
            let place = "outcomes.\(index)", share = all > 0 ? Double(outcome.count) / Double(all) : 0
            return [
                .text(OutcomeNames.words(for: outcome.outcome)), .count("\(place).count", outcome.count),
                .text(share.percentText), Self.bar(share, hues[outcome.outcome] ?? .near),
                .value("\(place).response.p50_ms", outcome.response.p50, decimals),
                .value("\(place).response.p90_ms", outcome.response.p90, decimals),
                .value("\(place).response.p99_ms", outcome.response.p99, decimals),
                .value("\(place).response.max_ms", outcome.response.maximum, decimals),
            ]
        }
        return DataTable(
            columns: [.word("outcome"), "requests", "share", "", "p50 ms", "p90 ms", "p99 ms", "max ms"], rows: rows
        ).markup
    }

    private static func bar(_ share: Double, _ hue: Hue) -> Markup {
        .tag(
            "svg", ["class": "share", "viewBox": "0 0 100 10", "preserveAspectRatio": "none", "aria-hidden": "true"],
            .tag(
                "rect",
                ["class": "fill-\(hue)", "width": max(0.6, share * 100).pixels, "height": "10"]))
    }

    private var statuses: Markup {
        counts(of: result.statuses, in: "statuses", "HTTP status", none: "No answer had an HTTP status.")
    }

    private var errors: Markup {
        counts(of: result.errors, in: "errors", "error", none: "No request went without an answer.")
    }

    private func counts(of counts: [String: Int], in place: String, _ name: String, none: String) -> Markup {
        guard !counts.isEmpty else { return .tag("div", [:], Page.note(none)) }
        let rows = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { name, count -> [Markup] in
            [.text(name), .count("\(place).\(name)", count)]
        }
        return .tag("div", [:], DataTable(columns: [.word(name), "requests"], rows: rows).markup)
    }

    private var traffic: Markup {
        let totals = result.totals
        return .tag(
            "p", ["class": "note"], .count("totals.intended", totals.intended), " requests were due, ",
            .count("totals.sent", totals.sent), " were sent, ", .count("totals.answered", totals.answered),
            " answered; \(totals.sentBytes.bytesText) went out, \(totals.receivedBytes.bytesText) came in.")
    }
}

extension Int {
    /// `12.3 MB`, of a million bytes each.
    var bytesText: String {
        for (size, unit) in [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")] where Double(self) >= size {
            return (Double(self) / size).significant + " " + unit
        }
        return "\(self) bytes"
    }
}
