// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The HTML page of two runs.
struct ComparePage: Sendable {
    let comparison: RunComparison

    func html() throws -> String {
        let plots = ComparePlots(comparison)
        let json = try JSONText.compact(ComparisonReport(comparison))
        return Page.html(
            title: comparison.headline,
            """
            \(header)\(figures)
            \(Page.section("latency-section", "Latency", plots.percentiles.html))
            \(Page.section("time", "Over time, from the end of the warm-up", "\(plots.overTime.map(\.html))"))
            \(Page.section("plans", "Plan and environment", planDifferences, environmentDifferences))
            <script type="application/json" id="comparison">\(json: json)</script>
            <footer>receipt-loadtest · the element script#comparison holds the numbers of this page as JSON</footer>
            """)
    }

    private var header: HTML {
        let isQuiet = comparison.warnings.isEmpty && comparison.events.isEmpty
        let look: (style: HTML, sign: HTML) =
            !comparison.regressions.isEmpty ? ("bad", "✕") : isQuiet ? ("good", "✓") : ("caution", "!")
        let runs = comparison.runs.map { name, run -> HTML in
            """
            <p class="lead"><strong>\(name)</strong>: \(run.plan.title), \
            <span class="whole">\(run.startedAt.description)</span>. \(run.sentence)</p>

            """
        }
        return Page.header(
            "Two load tests compared", style: look.style, sign: look.sign, comparison.headline,
            reasons: comparison.warnings, "\(runs)")
    }

    private var figures: HTML {
        let rows = comparison.figures.enumerated().map { index, figure -> [HTML] in
            let path = "figures.\(index)", look = figure.judgement.look
            return [
                .text(figure.unit.isEmpty ? figure.name : "\(figure.name), \(figure.unit)"),
                "<span class=\"\(look.style)\">\(look.sign)\(figure.judgement.words.lowercased())</span>",
                .value("\(path).a", figure.a), .value("\(path).b", figure.b),
                .value("\(path).ratio", figure.ratio) { $0.fixed(2) }, .text(figure.intervalText ?? "–"),
            ]
        }
        let columns = ["figure", "verdict", "A", "B", "B / A", "typical second"]
        return Page.section(
            "figures", "Differences", DataTable(columns: columns, words: [0, 1], rows: rows).html,
            Page.note(
                """
                “Typical second” is the range of the difference between B's typical second and A's: the median for \
                latencies, the mean for rates and shares, in \(NoiseRule.draws.grouped) draws of blocks of seconds, \
                without a thousandth of the draws at each end. A difference counts if its range lies on one side of 0, \
                and if it is at least 5 % (for shares of requests: 0.1 points). “In few seconds” means that the runs \
                differ, and most of their seconds do not. The warm-up does not count. No pair of runs shows what \
                changes from run to run: repeat both before you rely on a difference.
                """))
    }

    private var planDifferences: HTML {
        comparison.planDifferences.isEmpty
            ? Page.note("Both runs had the same plan.") : table("plan", comparison.planDifferences)
    }

    private var environmentDifferences: HTML {
        comparison.environmentDifferences.isEmpty
            ? Page.note("Both ran in the same environment.") : table("environment", comparison.environmentDifferences)
    }

    private func table(_ name: String, _ differences: [RunComparison.Difference]) -> HTML {
        let rows = differences.map { [$0.name, $0.a, $0.b].map { HTML.text($0.isEmpty ? "–" : $0) } }
        return DataTable(columns: [name, "A", "B"], words: [0, 1, 2], rows: rows, isSnug: true).html
    }
}

extension NoiseRule.Judgement {
    fileprivate var look: (style: HTML, sign: HTML) {
        switch self {
        case .worse: ("bad", "✕ ")
        case .better: ("good", "✓ ")
        case .withinNoise: ("ink", "")
        case .fewSeconds: ("caution", "! ")
        case .tooFewSeconds, .notJudged: ("none", "")
        }
    }
}
