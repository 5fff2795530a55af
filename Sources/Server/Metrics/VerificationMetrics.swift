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

    /// What is counted each time a client is told this.
    func tally(_ answer: Answer) -> VerdictTally {
        let reason: PrometheusCounter? =
            switch answer.verdict {
            case .genuine: nil
            case .rejected(let rejection): rejections[rejection]
            case .undecided(let reason): undecided[reason]
            }
        return VerdictTally(verdict: verifications[VerificationLabels(answer)], reason: reason)
    }
}

/// The counters of one kind of verdict.
struct VerdictTally: Sendable {
    fileprivate let verdict: PrometheusCounter?
    fileprivate let reason: PrometheusCounter?

    /// A client is told it once more.
    func count() {
        verdict?.increment()
        reason?.increment()
    }
}
