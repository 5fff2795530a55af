// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import Resilience

/// One question to Apple, and what came of it.
package struct UpstreamRequestLabels: SeriesLabels {
    package let endpoint: UpstreamEndpoint
    package let outcome: UpstreamOutcome

    package static let labelNames = UpstreamEndpoint.labelNames + ["outcome"]
    package var labelValues: [String] { endpoint.labelValues + [outcome.name] }

    package static let allCases = UpstreamEndpoint.allCases.flatMap { endpoint in
        UpstreamOutcome.allCases.map { UpstreamRequestLabels(endpoint: endpoint, outcome: $0) }
    }
}

/// A question that did not leave the gateway, and why.
package struct UpstreamRejectionLabels: SeriesLabels {
    package let endpoint: UpstreamEndpoint
    let reason: DegradedReason

    package static let labelNames = UpstreamEndpoint.labelNames + ["reason"]
    package var labelValues: [String] { endpoint.labelValues + [reason.rawValue] }

    package static let allCases = UpstreamEndpoint.allCases.flatMap { endpoint in
        [DegradedReason.circuitOpen, .upstreamPaused, .upstreamBudget, .upstreamSaturated].map {
            UpstreamRejectionLabels(endpoint: endpoint, reason: $0)
        }
    }
}

/// A way of a circuit breaker from one state to another.
struct BreakerTransitionLabels: SeriesLabels {
    let endpoint: UpstreamEndpoint
    let transition: CircuitBreaker.Transition

    static let labelNames = UpstreamEndpoint.labelNames + ["from", "to"]
    var labelValues: [String] { endpoint.labelValues + [transition.from.rawValue, transition.to.rawValue] }

    static let allCases = UpstreamEndpoint.allCases.flatMap { endpoint in
        CircuitBreaker.Transition.allCases.map { BreakerTransitionLabels(endpoint: endpoint, transition: $0) }
    }
}

/// The state of a circuit breaker.
struct BreakerStateLabels: SeriesLabels {
    let endpoint: UpstreamEndpoint
    let state: CircuitBreaker.State.Name

    static let labelNames = UpstreamEndpoint.labelNames + ["state"]
    var labelValues: [String] { endpoint.labelValues + [state.rawValue] }

    static let allCases = UpstreamEndpoint.allCases.flatMap { endpoint in
        CircuitBreaker.State.Name.allCases.map { BreakerStateLabels(endpoint: endpoint, state: $0) }
    }
}

/// Whether what Apple said of a receipt was known.
package struct CacheLookupLabel: SeriesLabels {
    package let cache: Provenance.Cache

    package static let labelNames = ["result"]
    package var labelValues: [String] { [cache.rawValue] }

    package static let allCases = [Provenance.Cache.miss, .shared, .stale].map { CacheLookupLabel(cache: $0) }
}

extension UpstreamEndpoint: SeriesLabels {
    package static var labelNames: [String] { ["api", "environment"] }
    package var labelValues: [String] { [api.rawValue, environment.rawValue] }
}

extension Contradiction: SeriesLabels {
    package static var labelNames: [String] { ["contradiction"] }
}

extension DegradedReason: SeriesLabels {
    package static var labelNames: [String] { ["reason"] }
}

extension LeaseOutcome: SeriesLabels {
    package static var labelNames: [String] { ["outcome"] }
}
