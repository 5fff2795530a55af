// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts
package import Resilience

/// The labels of one series. All cases are series of a family, so there must be few: never a client, app or receipt.
package protocol SeriesLabels: CaseIterable, Hashable, Sendable {
    static var labelNames: [String] { get }
    /// The label values, in the order of the names.
    var labelValues: [String] { get }
}

extension SeriesLabels where Self: RawRepresentable<String> {
    package var labelValues: [String] { [rawValue] }
}

extension MetricFamily {
    /// - Parameter isPreset: for a family of many series: chooses the series that rules and dashboards use. Only these are
    ///   exported before their first event; nil for all.
    package init<Labels: SeriesLabels>(
        _ name: String, _ kind: Kind, _ help: String, by labels: Labels.Type, preset isPreset: ((Labels) -> Bool)? = nil
    ) {
        self.init(
            name, kind, help, labelNames: Labels.labelNames, labelSets: Labels.allCases.map(\.labelValues),
            presetLabelSets: isPreset.map { Labels.allCases.filter($0).map(\.labelValues) })
    }
}

extension PrometheusRegistry {
    package func counters<Labels: SeriesLabels>(_ family: MetricFamily) -> [Labels: PrometheusCounter] {
        Dictionary(uniqueKeysWithValues: Labels.allCases.map { ($0, counter(family, $0.labelValues)) })
    }

    /// Looks a series up and counts one: for events that are few and slow.
    func count(_ family: MetricFamily, _ labels: some SeriesLabels) {
        counter(family, labels.labelValues).increment()
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
    package static let labelNames = ["outcome"]
    package var labelValues: [String] { [name] }
}

extension CircuitBreaker.Transition: SeriesLabels {
    package static let labelNames = ["from", "to"]
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
    package static let labelNames = ["api", "environment"]
    package var labelValues: [String] { [api.rawValue, environment.rawValue] }
}

package typealias ServerAPICallLabels = LabelPair<
    LabelPair<ServerAPIOperation, UpstreamEnvironment>, ServerAPICallOutcome
>

// MARK: - Enumerations whose raw values are the label values

extension CircuitBreaker.State.Name: SeriesLabels { package static let labelNames = ["state"] }
extension UpstreamEnvironment: SeriesLabels { package static let labelNames = ["environment"] }
extension ServerAPIOperation: SeriesLabels { package static let labelNames = ["operation"] }
extension ServerAPICallOutcome: SeriesLabels { package static let labelNames = ["outcome"] }
extension Contradiction: SeriesLabels { package static let labelNames = ["contradiction"] }
extension DegradedReason: SeriesLabels { package static let labelNames = ["reason"] }
extension LeaseOutcome: SeriesLabels { package static let labelNames = ["outcome"] }
extension Provenance.Source: SeriesLabels { package static let labelNames = ["source"] }
extension UndecidedReason: SeriesLabels { package static let labelNames = ["reason"] }
extension IgnorableClaim: SeriesLabels { package static let labelNames = ["claim"] }
