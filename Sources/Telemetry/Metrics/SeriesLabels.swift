// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Resilience

/// The labels of one series. All cases together are all series of a family, so there must be few: never a client, an
/// app or a receipt.
package protocol SeriesLabels: CaseIterable, Hashable, Sendable {
    static var labelNames: [String] { get }
    /// The label values, in the order of the names.
    var labelValues: [String] { get }
}

extension SeriesLabels where Self: RawRepresentable<String> {
    package var labelValues: [String] { [rawValue] }
}

extension MetricFamily {
    package init<Labels: SeriesLabels>(_ name: String, _ kind: Kind, _ help: String, by labels: Labels.Type) {
        self.init(
            name, kind, help, labelNames: Labels.labelNames, labelSets: Labels.allCases.map(\.labelValues))
    }
}

extension PrometheusRegistry {
    package func counters<Labels: SeriesLabels>(_ family: MetricFamily) -> [Labels: PrometheusCounter] {
        Dictionary(uniqueKeysWithValues: Labels.allCases.map { ($0, counter(family, $0.labelValues)) })
    }
}

/// The labels of two things that a series is about: all combinations are series.
package struct LabelPair<First: SeriesLabels, Second: SeriesLabels>: SeriesLabels {
    package let first: First
    package let second: Second

    package init(_ first: First, _ second: Second) { (self.first, self.second) = (first, second) }

    package static var labelNames: [String] { First.labelNames + Second.labelNames }
    package var labelValues: [String] { first.labelValues + second.labelValues }

    package static var allCases: [LabelPair] {
        First.allCases.flatMap { first in Second.allCases.map { LabelPair(first, $0) } }
    }
}

package typealias EndpointLabels<Detail: SeriesLabels> = LabelPair<UpstreamEndpoint, Detail>

extension UpstreamOutcome: SeriesLabels {
    package static var labelNames: [String] { ["outcome"] }
    package var labelValues: [String] { [name] }
}

extension CircuitBreaker.State.Name: SeriesLabels {
    package static var labelNames: [String] { ["state"] }
}

extension CircuitBreaker.Transition: SeriesLabels {
    package static var labelNames: [String] { ["from", "to"] }
    package var labelValues: [String] { [from.rawValue, to.rawValue] }
}

/// The reason why the gateway rejected a request to Apple.
package struct LocalRejection: SeriesLabels {
    let reason: DegradedReason

    package static let labelNames = DegradedReason.labelNames
    package var labelValues: [String] { reason.labelValues }

    package static let allCases = [
        DegradedReason.circuitOpen, .upstreamPaused, .upstreamBudget, .upstreamSaturated, .serverAPIKeyRejected,
    ].map { LocalRejection(reason: $0) }
}

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

extension UpstreamEnvironment: SeriesLabels {
    package static var labelNames: [String] { ["environment"] }
}

extension ServerAPIOperation: SeriesLabels {
    package static var labelNames: [String] { ["operation"] }
}

extension ServerAPICallOutcome: SeriesLabels {
    package static var labelNames: [String] { ["outcome"] }
}

/// The labels of a call of the App Store Server API.
package typealias ServerAPICallLabels = LabelPair<
    LabelPair<ServerAPIOperation, UpstreamEnvironment>, ServerAPICallOutcome
>

extension Contradiction: SeriesLabels {
    package static var labelNames: [String] { ["contradiction"] }
}

extension DegradedReason: SeriesLabels {
    package static var labelNames: [String] { ["reason"] }
}

extension LeaseOutcome: SeriesLabels {
    package static var labelNames: [String] { ["outcome"] }
}
