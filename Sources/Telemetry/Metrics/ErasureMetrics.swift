// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Privacy
package import PrometheusExport

/// Counts the erasures of customers' data.
package final class ErasureMetrics: Sendable {
    private let erasures: [ErasureLabel: PrometheusCounter]
    private let entries: [CustomerData: PrometheusCounter]

    package init(_ registry: PrometheusRegistry) {
        erasures = registry.counters(MetricCatalogue.erasures)
        entries = registry.counters(MetricCatalogue.erasedEntries)
    }

    /// Counts an erasure with the entries that were deleted.
    package func countDone(_ erased: ErasureCount) {
        erasures[.done]?.increment()
        for (kind, count) in erased { entries[kind]?.increment(by: Int64(count)) }
    }

    /// Counts an erasure that a store did not answer.
    package func countFailed() { erasures[.failed]?.increment() }
}
