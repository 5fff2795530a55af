// SPDX-License-Identifier: Apache-2.0

package import Customers

// Ownership of purchases, and the erasure of customers' data.
extension MetricCatalogue {
    package static let ownership = MetricFamily(
        "receipt_gateway_ownership_total", .counter,
        "Answers to requests with an account, by its relation to the purchases.",
        by: Ownership.self)
    package static let ownershipRejections = MetricFamily(
        "receipt_gateway_ownership_rejections_total", .counter,
        "Verdicts rejected because a purchase is another account's.")
    package static let fraudSuspected = MetricFamily(
        "receipt_gateway_fraud_suspected_total", .counter, "Purchases that more accounts used than permitted.")
    package static let erasures = MetricFamily(
        "receipt_gateway_erasures_total", .counter, "Requests to delete a customer's data.", by: ErasureLabel.self)
    package static let erasedEntries = MetricFamily(
        "receipt_gateway_erased_entries_total", .counter, "Stored entries that were deleted with a customer's data.",
        by: CustomerData.self)

    static let customers = [ownership, ownershipRejections, fraudSuspected, erasures, erasedEntries]
}

extension Ownership: SeriesLabels { package static let labelNames = ["result"] }
extension CustomerData: SeriesLabels { package static let labelNames = ["kind"] }

package enum ErasureLabel: String, SeriesLabels {
    case done
    /// A store did not answer. A part may be deleted.
    case failed

    package static let labelNames = ["outcome"]
}

package final class ErasureMetrics: Sendable {
    private let registry: PrometheusRegistry

    package init(_ registry: PrometheusRegistry) { self.registry = registry }

    package func observe(_ event: ErasureEvent) {
        switch event {
        case .done(let erased):
            registry.count(MetricCatalogue.erasures, ErasureLabel.done)
            for (kind, count) in erased {
                registry.counter(MetricCatalogue.erasedEntries, kind.labelValues).increment(by: Int64(count))
            }
        case .failed: registry.count(MetricCatalogue.erasures, ErasureLabel.failed)
        }
    }
}

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
