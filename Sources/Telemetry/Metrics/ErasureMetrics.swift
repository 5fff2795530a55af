// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers

/// Counts the erasures of customers' data.
package final class ErasureMetrics: Sendable {
    private let erasures: [ErasureLabel: PrometheusCounter]
    private let entries: [CustomerData: PrometheusCounter]

    package init(_ registry: PrometheusRegistry) {
        erasures = registry.counters(MetricCatalogue.erasures)
        entries = registry.counters(MetricCatalogue.erasedEntries)
    }

    package func observe(_ event: ErasureEvent) {
        switch event {
        case .done(let erased):
            erasures[.done]?.increment()
            for (kind, count) in erased { entries[kind]?.increment(by: Int64(count)) }
        case .failed: erasures[.failed]?.increment()
        }
    }
}
