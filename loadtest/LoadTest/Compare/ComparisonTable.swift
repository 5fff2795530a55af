// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What `compare` prints for readers.
struct ComparisonTable: Sendable {
    let comparison: RunComparison

    /// Without a line break at the end. What a result says is written without control characters: this is for a terminal.
    var text: String {
        var table = TextTable(header: ["", "A", "B", "B/A", "typical second", "verdict"])
        for figure in comparison.figures { table.append(Self.row(figure)) }
        let differences = (comparison.planDifferences + comparison.environmentDifferences).map { difference in
            "\(difference.name): A \(difference.a.isEmpty ? "–" : difference.a), B \(difference.b.isEmpty ? "–" : difference.b)"
        }
        let heads = [("A", comparison.a), ("B", comparison.b)].map { name, run in
            "\(name): \(run.plan.title), \(run.startedAt), \(run.plan.load) for \((run.plan.seconds ?? run.durationSeconds).plain) s"
        }
        let parts = [
            ([comparison.headline + "."] + comparison.warnings).joined(separator: "\n"), heads.joined(separator: "\n"),
            table.text, differences.joined(separator: "\n"), Self.legend,
        ]
        return parts.filter { !$0.isEmpty }.map(\.withoutControls).joined(separator: "\n\n")
    }

    private static func row(_ figure: ComparedFigure) -> [String] {
        [
            figure.unit.isEmpty ? figure.name : "\(figure.name) \(figure.unit)", number(figure.a), number(figure.b),
            figure.ratio?.fixed(2) ?? "-", figure.intervalText, figure.judgement.words,
        ]
    }

    private static func number(_ value: Double?) -> String { value?.significant ?? "-" }

    private static let legend = """
        Typical second: how far B's may lie from A's (for shares of requests: in points). A difference counts if it lies on
        one side of 0 there and is at least 5 % (0.1 points). In few seconds: the runs lie apart, most of their seconds do
        not. Repeat both runs before you believe it.
        """
}

extension ComparedFigure {
    /// `-3 % to +12 %` of A's typical second; for shares of requests, `-0.01 to +0.2`.
    var intervalText: String {
        guard let lowest, let highest, let typicalA else { return "-" }
        if unit == "%" { return "\(Self.signed(lowest, 2)) to \(Self.signed(highest, 2))" }
        guard typicalA > 0 else { return "-" }
        return "\(Self.signed(100 * lowest / typicalA, 1)) % to \(Self.signed(100 * highest / typicalA, 1)) %"
    }

    private static func signed(_ value: Double, _ decimals: Int) -> String {
        (value > 0 ? "+" : "") + value.grouped(decimals)
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

extension String {
    /// A terminal obeys control characters; a reader should not have to.
    fileprivate var withoutControls: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    scalar != "\n" && (scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value))
                        ? "\u{FFFD}" : scalar
                }))
    }
}
