// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import PrometheusExport

/// Counts verdicts.
final class VerificationMetrics: Sendable {
    private let verifications: [VerificationLabels: PrometheusCounter]
    private let rejections: [Rejection: PrometheusCounter]
    private let undecided: [UndecidedReason: PrometheusCounter]

    init(_ registry: PrometheusRegistry) {
        verifications = registry.counters(MetricCatalogue.verifications)
        rejections = registry.counters(MetricCatalogue.rejections)
        undecided = registry.counters(MetricCatalogue.undecided)
    }

    /// A client is told this.
    func count(_ answer: Answer) {
        verifications[VerificationLabels(answer)]?.increment()
        switch answer.verdict {
        case .genuine: break
        case .rejected(let rejection): rejections[rejection]?.increment()
        case .undecided(let reason): undecided[reason]?.increment()
        }
    }
}
