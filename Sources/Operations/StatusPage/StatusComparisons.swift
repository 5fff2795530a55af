// SPDX-License-Identifier: Apache-2.0

internal import Gateway

// The results of comparisons with other sources, of the whole fleet.
extension StatusSources {
    private typealias Row = StatusTable.Row

    private enum Limits {
        /// The kinds of difference on the page, the most frequent. The command prints all.
        static let kinds = 20
    }

    /// The tables about comparisons: one for each pair of sources with results.
    func comparisonTables() -> [StatusTable] {
        let tallies = comparisons()
        return ComparisonPair.allCases.compactMap { pair in tallies[pair].map { table(pair, $0) } }
    }

    private func table(_ pair: ComparisonPair, _ tally: ComparisonTally) -> StatusTable {
        let different = max(0, tally.compared - tally.equal)
        let kinds = tally.kindsByCount.prefix(Limits.kinds).map { kind, found in
            Row(
                kind.text, "\(kind.field.rawValue): \(kind.answered), other source \(kind.compared)",
                .count(found.count))
        }
        return StatusTable(
            "comparison_\(pair.rawValue)", pair.title,
            note:
                "all nodes, the last \(ComparisonTally.Limits.days) days; examples: receipt-gateway comparison report",
            rows: [
                Row("compared", "Compared", .count(tally.compared)),
                Row("equal", "Equal", .count(tally.equal)),
                Row("different", "Different", .count(different), .notable, if: different > 0),
                Row("unanswered", "Without an answer of the other source", .count(tally.unanswered)),
                Row("kinds", "Kinds of difference", .count(tally.kinds.count)),
            ] + kinds)
    }
}

extension ComparisonPair {
    fileprivate var title: String {
        switch self {
        case .localAndApple: "Comparison of signed data with Apple's answers"
        case .verifyReceiptAndServerAPI: "Comparison of verifyReceipt with the Server API"
        }
    }
}
