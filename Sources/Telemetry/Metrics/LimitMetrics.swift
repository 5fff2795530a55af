// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Resilience

/// Counts the decisions of clients' limits by subject, never by name: operators choose the names.
package final class LimitMetrics: Sendable {
    private let decisions: [LimitDecisionLabels: PrometheusCounter]
    private let limited: [LimitedRequestLabel: PrometheusCounter]
    private let wrongCredentials: [CredentialLabel: PrometheusCounter]

    package init(_ registry: PrometheusRegistry) {
        decisions = registry.counters(MetricCatalogue.limitDecisions)
        limited = registry.counters(MetricCatalogue.limitedRequests)
        wrongCredentials = registry.counters(MetricCatalogue.wrongFormCredentials)
    }

    /// Counts the decisions of these policies, one outcome for each, in order.
    package func count(_ admission: RateAdmission, under policies: [ClientPolicy]) {
        for (policy, outcome) in zip(policies, admission.outcomes) {
            decisions[LimitDecisionLabels(policy.subject, outcome)]?.increment()
        }
        if !admission.isAdmitted { limited[.rate]?.increment() }
    }

    package func countTooManyInFlight() { limited[.concurrency]?.increment() }

    package func count(_ fault: FormCredentialFault) {
        switch fault {
        case .key: wrongCredentials[.key]?.increment()
        case .token: wrongCredentials[.token]?.increment()
        }
    }
}

package enum CredentialLabel: String, SeriesLabels {
    case key, token

    package static let labelNames = ["credential"]
}

package struct LimitDecisionLabels: SeriesLabels {
    /// The decision. A refusal in shadow mode has no effect.
    package enum Decision: String, CaseIterable, Sendable {
        case admitted, refused
        case refusedInShadow = "refused_in_shadow"
    }

    let subject: ClientPolicy.Subject
    package let decision: Decision
    package let source: RateAdmission.Source

    package static let labelNames = ["subject", "decision", "source"]
    package var labelValues: [String] { [subject.rawValue, decision.rawValue, source.rawValue] }

    package static let allCases = ClientPolicy.Subject.allCases.flatMap { subject in
        Decision.allCases.flatMap { decision in
            RateAdmission.Source.allCases.map {
                LimitDecisionLabels(subject: subject, decision: decision, source: $0)
            }
        }
    }
}

extension LimitDecisionLabels {
    init(_ subject: ClientPolicy.Subject, _ outcome: RateAdmission.Outcome) {
        let isShadow = outcome.charge.bucket.policy.isShadow
        let refusal = isShadow ? Decision.refusedInShadow : .refused
        self.init(subject: subject, decision: outcome.isRefusal ? refusal : .admitted, source: outcome.source)
    }
}

package enum LimitedRequestLabel: String, SeriesLabels {
    case rate, concurrency

    package static let labelNames = ["limit"]
}
