// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Two runs on one page.
struct ComparePage: Sendable {
    let comparison: RunComparison

    func html() throws -> String {
        let plots = ComparePlots(comparison)
        return Page.html(
            title: comparison.headline,
            [
                header, figures,
                Page.section("latency-section", "Latency", plots.percentiles.markup),
                Page.section(
                    "time", "Over time, from the end of the warm-up", first(plots.answered).markup,
                    plots.latency("p50", \.p50).markup, plots.latency("p99", \.p99).markup,
                    plots.latency("max", \.maximum).markup, plots.failed.markup),
                differences,
                .json(id: "comparison", try JSONText.compact(ComparisonReport(comparison))),
                .tag(
                    "footer", [:],
                    "receipt-loadtest · the numbers of this page are in its element script#comparison as JSON"),
            ])
    }

    private func first(_ figure: Figure) -> Figure {
        var figure = figure
        figure.isFirst = true
        return figure
    }

    private var header: Markup {
        let (style, sign) =
            !comparison.regressions.isEmpty
            ? ("bad", "✕")
            : !comparison.warnings.isEmpty || !comparison.events.isEmpty ? ("caution", "!") : ("good", "✓")
        let runs = [("A", comparison.a), ("B", comparison.b)].map { name, run in
            Markup.tag(
                "p", ["class": "lead"], .tag("strong", [:], .text(name)),
                ": \(run.plan.title), ", .tag("span", ["class": "whole"], .text("\(run.startedAt)")),
                ". \(run.sentence)")
        }
        return .tag(
            "header", [:], .tag("p", ["class": "kicker"], "Two load tests compared"),
            .tag(
                "h1", ["class": style, "id": "verdict"],
                .tag("span", ["class": "sign", "aria-hidden": "true"], .text(sign)),
                " ", .text(comparison.headline)),
            comparison.warnings.isEmpty
                ? .nothing
                : .tag("ul", ["class": "reasons"], comparison.warnings.map { .tag("li", [:], .text($0)) }.group),
            runs.group)
    }

    private var figures: Markup {
        let rows = comparison.figures.enumerated().map { index, figure -> [Markup] in
            let place = "figures.\(index)"
            return [
                .text(figure.unit.isEmpty ? figure.name : "\(figure.name), \(figure.unit)"),
                .tag(
                    "span", ["class": figure.judgement.style],
                    .text(figure.judgement.sign + figure.judgement.words.lowercased())),
                .value("\(place).a", figure.a, figure.a?.significant ?? "–"),
                .value("\(place).b", figure.b, figure.b?.significant ?? "–"),
                .value("\(place).ratio", figure.ratio, figure.ratio?.fixed(2) ?? "–"),
                .text(figure.intervalText == "-" ? "–" : figure.intervalText),
            ]
        }
        return Page.section(
            "figures", "What differs",
            DataTable(columns: [.word("figure"), .word("verdict"), "A", "B", "B / A", "typical second"], rows: rows)
                .markup,
            Page.note(
                """
                “Typical second” is how far B's may lie from A's: its median for latencies, its mean for rates and shares, \
                drawn again in blocks of seconds \(NoiseRule.draws.grouped) times, without a thousandth of the draws at each \
                end. A difference counts if that lies on one side of 0, and is at least 5 % (for shares of requests: 0.1 \
                points). “In few seconds” means that the runs lie apart, and most of their seconds do not. The warm-up does \
                not count. What changes from one run to the next, no pair of runs can show: repeat both before you believe it.
                """))
    }

    private var differences: Markup {
        Page.section(
            "plans", "What was not the same",
            comparison.planDifferences.isEmpty
                ? Page.note("Both runs had the same plan.") : Self.table("plan", comparison.planDifferences),
            comparison.environmentDifferences.isEmpty
                ? Page.note("Both ran in the same environment.")
                : Self.table("environment", comparison.environmentDifferences))
    }

    private static func table(_ what: String, _ differences: [RunComparison.Difference]) -> Markup {
        let rows = differences.map { difference -> [Markup] in
            [.text(difference.name)] + [difference.a, difference.b].map { .text($0.isEmpty ? "–" : $0) }
        }
        return DataTable(columns: [.word(what), .word("A"), .word("B")], rows: rows, isSnug: true).markup
    }
}

extension NoiseRule.Judgement {
    fileprivate var style: String {
        switch self {
        case .worse: "bad"
        case .better: "good"
        case .withinNoise: "ink"
        case .fewSeconds: "caution"
        case .tooFewSeconds, .notJudged: "none"
        }
    }

    fileprivate var sign: String {
        switch self {
        case .worse: "✕ "
        case .better: "✓ "
        case .fewSeconds: "! "
        case .withinNoise, .tooFewSeconds, .notJudged: ""
        }
    }
}
