// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import PrometheusExport

/// The labels of one series. All cases together are all series of a family, so there must be few: never a client, an
/// app or a receipt.
package protocol SeriesLabels: CaseIterable, Hashable, Sendable {
    static var labelNames: [String] { get }
    /// The label values, in the order of the names.
    var labelValues: [String] { get }
}

extension SeriesLabels where Self: RawRepresentable<String> {
    package var labelValues: [String] { [rawValue] }
}

extension MetricFamily {
    /// Declares a family with one series per case.
    package init<Labels: SeriesLabels>(_ name: String, _ kind: Kind, _ help: String, by labels: Labels.Type) {
        self.init(
            name, kind, help, labelNames: Labels.labelNames, labelSets: Labels.allCases.map(\.labelValues))
    }
}

extension PrometheusRegistry {
    /// Returns the counters of all series of a family.
    package func counters<Labels: SeriesLabels>(_ family: MetricFamily) -> [Labels: PrometheusCounter] {
        Dictionary(uniqueKeysWithValues: Labels.allCases.map { ($0, counter(family, $0.labelValues)) })
    }
}
