// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import Resilience

/// The labels of a request to Apple, by outcome.
package struct UpstreamRequestLabels: SeriesLabels {
    package let endpoint: UpstreamEndpoint
    package let outcome: UpstreamOutcome

    package static let labelNames = UpstreamEndpoint.labelNames + ["outcome"]
    package var labelValues: [String] { endpoint.labelValues + [outcome.name] }

    package static let allCases = UpstreamEndpoint.allCases.flatMap { endpoint in
        UpstreamOutcome.allCases.map { UpstreamRequestLabels(endpoint: endpoint, outcome: $0) }
    }
}

/// The labels of a request to Apple that was rejected locally, with the reason.
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

/// The labels of a circuit breaker's transition.
struct BreakerTransitionLabels: SeriesLabels {
    let endpoint: UpstreamEndpoint
    let transition: CircuitBreaker.Transition

    static let labelNames = UpstreamEndpoint.labelNames + ["from", "to"]
    var labelValues: [String] { endpoint.labelValues + [transition.from.rawValue, transition.to.rawValue] }

    static let allCases = UpstreamEndpoint.allCases.flatMap { endpoint in
        CircuitBreaker.Transition.allCases.map { BreakerTransitionLabels(endpoint: endpoint, transition: $0) }
    }
}

/// The labels of a circuit breaker's state.
struct BreakerStateLabels: SeriesLabels {
    let endpoint: UpstreamEndpoint
    let state: CircuitBreaker.State.Name

    static let labelNames = UpstreamEndpoint.labelNames + ["state"]
    var labelValues: [String] { endpoint.labelValues + [state.rawValue] }

    static let allCases = UpstreamEndpoint.allCases.flatMap { endpoint in
        CircuitBreaker.State.Name.allCases.map { BreakerStateLabels(endpoint: endpoint, state: $0) }
    }
}

/// The label of a lookup in the cache of upstream results.
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
