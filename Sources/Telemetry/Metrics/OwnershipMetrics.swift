// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers

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
