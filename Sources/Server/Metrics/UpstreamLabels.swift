// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Resilience

/// One question to Apple, and what came of it.
struct UpstreamRequestLabels: SeriesLabels {
    let environment: UpstreamEnvironment
    let outcome: UpstreamOutcome

    static let labelNames = ["environment", "outcome"]
    var labelValues: [String] { [environment.rawValue, outcome.name] }

    static let allCases = UpstreamEnvironment.allCases.flatMap { environment in
        UpstreamOutcome.allCases.map { UpstreamRequestLabels(environment: environment, outcome: $0) }
    }
}

/// A question that did not leave the gateway, and why.
struct HeldBackLabels: SeriesLabels {
    let environment: UpstreamEnvironment
    let reason: DegradedReason

    static let labelNames = ["environment", "reason"]
    var labelValues: [String] { [environment.rawValue, reason.rawValue] }

    static let allCases = UpstreamEnvironment.allCases.flatMap { environment in
        [DegradedReason.circuitOpen, .upstreamPaused, .upstreamBudget, .upstreamSaturated].map {
            HeldBackLabels(environment: environment, reason: $0)
        }
    }
}

/// A way of a circuit breaker from one state to another.
struct BreakerTransitionLabels: SeriesLabels {
    let environment: UpstreamEnvironment
    let transition: CircuitBreaker.Transition

    static let labelNames = ["environment", "from", "to"]
    var labelValues: [String] { [environment.rawValue, transition.from.rawValue, transition.to.rawValue] }

    static let allCases = UpstreamEnvironment.allCases.flatMap { environment in
        CircuitBreaker.Transition.allCases.map { BreakerTransitionLabels(environment: environment, transition: $0) }
    }
}

/// The state of a circuit breaker.
struct BreakerStateLabels: SeriesLabels {
    let environment: UpstreamEnvironment
    let state: CircuitBreaker.State.Name

    static let labelNames = ["environment", "state"]
    var labelValues: [String] { [environment.rawValue, state.rawValue] }

    static let allCases = UpstreamEnvironment.allCases.flatMap { environment in
        CircuitBreaker.State.Name.allCases.map { BreakerStateLabels(environment: environment, state: $0) }
    }
}

/// Whether what Apple said of a receipt was known.
struct FindingLookupLabel: SeriesLabels {
    let cache: Provenance.Cache

    static let labelNames = ["result"]
    var labelValues: [String] { [cache.rawValue] }

    static let allCases = [Provenance.Cache.miss, .shared, .stale].map { FindingLookupLabel(cache: $0) }
}

extension SharedCacheFault: SeriesLabels {
    static let labelNames = ["fault"]
}

extension UpstreamEnvironment: SeriesLabels {
    static var labelNames: [String] { ["environment"] }
}

extension Contradiction: SeriesLabels {
    static var labelNames: [String] { ["contradiction"] }
}

extension DegradedReason: SeriesLabels {
    static var labelNames: [String] { ["reason"] }
}
