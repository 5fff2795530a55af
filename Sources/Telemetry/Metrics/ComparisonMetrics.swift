// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import Synchronization

extension MetricCatalogue {
    package static let comparisons = MetricFamily(
        "receipt_gateway_comparisons_total", .counter, "Answers selected for a comparison with another source.",
        by: LabelPair<ComparisonPair, ComparisonOutcome>.self
    ) { _ in false }
    package static let comparisonDifferences = MetricFamily(
        "receipt_gateway_comparison_differences_total", .counter,
        "Compared answers in which the other source differs, by field.",
        by: LabelPair<ComparisonPair, ComparedField>.self
    ) { _ in false }

    static let comparisonFamilies = [comparisons, comparisonDifferences]
}

extension ComparisonPair: SeriesLabels { package static let labelNames = ["pair"] }
extension ComparedField: SeriesLabels { package static let labelNames = ["field"] }

package enum ComparisonOutcome: SeriesLabels {
    case equal, different
    case skipped(ComparisonObstacle)
    /// The store did not take the result.
    case unstored

    package static let allCases = [equal, different, unstored] + ComparisonObstacle.allCases.map(skipped)
    package static let labelNames = ["outcome"]

    package var labelValues: [String] {
        switch self {
        case .equal: ["equal"]
        case .different: ["different"]
        case .skipped(let obstacle): [obstacle.rawValue]
        case .unstored: ["unstored"]
        }
    }
}

/// Counts comparisons, and keeps the last report of the store for the status page.
package final class ComparisonMetrics: Sendable {
    private let registry: PrometheusRegistry
    private let tallies = Mutex<[ComparisonPair: ComparisonTally]>([:])

    package init(_ registry: PrometheusRegistry) { self.registry = registry }

    /// The results of the whole fleet over the last days, as last read.
    package var last: [ComparisonPair: ComparisonTally] { tallies.withLock { $0 } }

    package func record(_ new: [ComparisonPair: ComparisonTally]) { tallies.withLock { $0 = new } }

    package func observe(_ event: ComparisonEvent) {
        switch event {
        case .compared(let pair, let fields):
            count(pair, fields.isEmpty ? .equal : .different)
            for field in fields { registry.count(MetricCatalogue.comparisonDifferences, LabelPair(pair, field)) }
        case .skipped(let pair, let obstacle): count(pair, .skipped(obstacle))
        case .unstored(let pair): count(pair, .unstored)
        }
    }

    private func count(_ pair: ComparisonPair, _ outcome: ComparisonOutcome) {
        registry.count(MetricCatalogue.comparisons, LabelPair(pair, outcome))
    }
}
