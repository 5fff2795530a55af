// SPDX-License-Identifier: Apache-2.0

/// The output of `compare --format json`.
struct ComparisonReport: Encodable, Sendable {
    let schema = 1
    let kind = "comparison"
    let a, b: Run
    let headline: String
    let warnings: [String]
    let planDifferences, environmentDifferences: [RunComparison.Difference]
    let figures: [ComparedFigure]

    struct Run: Encodable, Sendable {
        let title: String
        let verdict: RunResult.Verdict
        let startedAt: RunResult.Moment
        let durationSeconds: Double

        init(_ run: RunResult) {
            (title, verdict, startedAt) = (run.plan.title, run.verdict, run.startedAt)
            durationSeconds = run.durationSeconds
        }
    }

    init(_ comparison: RunComparison) {
        (a, b) = (Run(comparison.a), Run(comparison.b))
        (headline, warnings, figures) = (comparison.headline, comparison.warnings, comparison.figures)
        (planDifferences, environmentDifferences) = (comparison.planDifferences, comparison.environmentDifferences)
    }
}

// MARK: - The table

extension RunComparison {
    var rows: [[String]] {
        figures.map { figure in
            [
                figure.unit.isEmpty ? figure.name : "\(figure.name) \(figure.unit)", figure.a?.significant ?? "-",
                figure.b?.significant ?? "-", figure.ratio?.fixed(2) ?? "-", figure.intervalText ?? "-",
                figure.judgement.words,
            ]
        }
    }

    /// Without a line break at the end, and without control characters of the results, which a terminal would obey.
    var text: String {
        let table = AlignedTable(header: ["", "A", "B", "B/A", "typical second", "verdict"], rows: rows)
        let differences = (planDifferences + environmentDifferences).map { difference in
            let values = [difference.a, difference.b].map { $0.isEmpty ? "–" : $0 }
            return "\(difference.name): A \(values[0]), B \(values[1])"
        }
        let heads = runs.map { name, run in
            let seconds = (run.plan.seconds ?? run.durationSeconds).plain
            return "\(name): \(run.plan.title), \(run.startedAt), \(run.plan.load) for \(seconds) s"
        }
        let parts = [[headline + "."] + warnings, heads, [table.text], differences, [Self.legend]]
        return parts.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n").printable
    }

    private static let legend = """
        Typical second: the range of B's difference from A's (for shares of requests: in points). A difference counts if
        the range lies on one side of 0 and the difference is at least 5 % (0.1 points). In few seconds: the runs
        differ, most of their seconds do not. Repeat both runs before you rely on a difference.
        """
}

extension ComparedFigure {
    /// `-3 % to +12 %` of A's typical second; for shares of requests, `-0.01 to +0.2`.
    var intervalText: String? {
        guard let lowest = differenceLow, let highest = differenceHigh, let typical = typicalSecondA else { return nil }
        func signed(_ value: Double, _ decimals: Int) -> String { (value > 0 ? "+" : "") + value.grouped(decimals) }
        if unit == "%" { return "\(signed(lowest, 2)) to \(signed(highest, 2))" }
        guard typical > 0 else { return nil }
        return "\(signed(100 * lowest / typical, 1)) % to \(signed(100 * highest / typical, 1)) %"
    }
}

extension NoiseRule.Judgement {
    var words: String {
        switch self {
        case .withinNoise: "within noise"
        case .better: "better"
        case .worse: "WORSE"
        case .fewSeconds: "in few seconds"
        case .tooFewSeconds: "too few seconds"
        case .notJudged: "not judged"
        }
    }
}
