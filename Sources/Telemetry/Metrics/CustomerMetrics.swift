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

/// Counts the checks of ownership.
package final class OwnershipMetrics: Sendable {
    private let checks: [Ownership: PrometheusCounter]
    private let rejections: PrometheusCounter
    private let suspicions: PrometheusCounter

    package init(_ registry: PrometheusRegistry) {
        checks = registry.counters(MetricCatalogue.ownership)
        rejections = registry.counter(MetricCatalogue.ownershipRejections)
        suspicions = registry.counter(MetricCatalogue.fraudSuspected)
    }

    package func observe(_ event: OwnershipEvent) {
        switch event {
        case .checked(let ownership): checks[ownership]?.increment()
        case .rejected: rejections.increment()
        case .fraudSuspected: suspicions.increment()
        }
    }
}
