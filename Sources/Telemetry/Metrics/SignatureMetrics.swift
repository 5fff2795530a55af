// SPDX-License-Identifier: Apache-2.0

package import AppStore

extension MetricCatalogue {
    package static let signatures = MetricFamily(
        "receipt_gateway_signatures_total", .counter, "Signatures for requests to StoreKit, and refusals.",
        by: SignatureLabels.self)
}

package typealias SignatureLabels = LabelPair<StoreKitRequest.Kind, SignatureOutcome>

extension StoreKitRequest.Kind: SeriesLabels { package static let labelNames = ["kind"] }

package enum SignatureOutcome: String, SeriesLabels {
    case signed
    /// The client lacks the right, or the product, offer or SKU is not in its list.
    case refused

    package static let labelNames = ["outcome"]
}

package struct SignatureMetrics: Sendable {
    private let registry: PrometheusRegistry

    package init(_ registry: PrometheusRegistry) { self.registry = registry }

    package func count(_ kind: StoreKitRequest.Kind, _ outcome: SignatureOutcome) {
        registry.count(MetricCatalogue.signatures, SignatureLabels(kind, outcome))
    }
}
