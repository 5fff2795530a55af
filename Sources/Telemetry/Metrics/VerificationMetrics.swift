// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import PrometheusExport

/// Counts verdicts.
package final class VerificationMetrics: Sendable {
    private let verifications: [VerificationLabels: PrometheusCounter]
    private let rejections: [Rejection: PrometheusCounter]
    private let undecided: [UndecidedReason: PrometheusCounter]

    package init(_ registry: PrometheusRegistry) {
        verifications = registry.counters(MetricCatalogue.verifications)
        rejections = registry.counters(MetricCatalogue.rejections)
        undecided = registry.counters(MetricCatalogue.undecided)
    }

    /// Returns the counters for an answer, incremented each time a client gets it.
    package func tally(_ answer: Answer) -> VerdictTally {
        let reason: PrometheusCounter? =
            switch answer.verdict {
            case .genuine: nil
            case .rejected(let rejection): rejections[rejection]
            case .undecided(let reason): undecided[reason]
            }
        return VerdictTally(verdict: verifications[VerificationLabels(answer)], reason: reason)
    }
}

/// The counters for one kind of answer.
package struct VerdictTally: Sendable {
    fileprivate let verdict: PrometheusCounter?
    fileprivate let reason: PrometheusCounter?

    package func count() {
        verdict?.increment()
        reason?.increment()
    }
}
