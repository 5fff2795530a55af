// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import Logging
package import PrometheusExport
internal import Receipts
internal import Resilience

/// Counts the events of requests to Apple, and logs those that need an operator.
package final class UpstreamMetrics: UpstreamObserver {
    private let logger: Logger
    private let requests: [UpstreamRequestLabels: PrometheusCounter]
    private let durations: [UpstreamEndpoint: PrometheusHistogram]
    private let rejected: [UpstreamRejectionLabels: PrometheusCounter]
    private let retries: [UpstreamEndpoint: PrometheusCounter]
    private let transitions: [BreakerTransitionLabels: PrometheusCounter]
    private let disagreements: [UpstreamEndpoint: PrometheusCounter]
    private let contradictions: [Contradiction: PrometheusCounter]
    private let unproven: [UpstreamEndpoint: PrometheusCounter]
    private let joins: PrometheusCounter
    private let lookups: [CacheLookupLabel: PrometheusCounter]
    private let earlyRefreshes: PrometheusCounter
    private let purges: PrometheusCounter
    private let leases: [LeaseOutcome: PrometheusCounter]
    private let degraded: [DegradedReason: PrometheusCounter]

    package init(_ registry: PrometheusRegistry, logger: Logger) {
        self.logger = logger
        requests = registry.counters(MetricCatalogue.upstreamRequests)
        durations = Dictionary(
            uniqueKeysWithValues: UpstreamEndpoint.allCases.map {
                ($0, registry.histogram(MetricCatalogue.upstreamDuration, $0.labelValues))
            })
        rejected = registry.counters(MetricCatalogue.upstreamRejected)
        retries = registry.counters(MetricCatalogue.upstreamRetries)
        transitions = registry.counters(MetricCatalogue.breakerTransitions)
        disagreements = registry.counters(MetricCatalogue.disagreements)
        contradictions = registry.counters(MetricCatalogue.contradictions)
        unproven = registry.counters(MetricCatalogue.unprovenAnswers)
        joins = registry.counter(MetricCatalogue.coalescedRequests)
        lookups = registry.counters(MetricCatalogue.cacheLookups)
        earlyRefreshes = registry.counter(MetricCatalogue.earlyRefreshes)
        purges = registry.counter(MetricCatalogue.cachePurges)
        leases = registry.counters(MetricCatalogue.flightLeases)
        degraded = registry.counters(MetricCatalogue.degraded)
    }

    func observe(_ event: UpstreamEvent) {
        switch event {
        case .asked(let endpoint, let outcome, let took):
            requests[UpstreamRequestLabels(endpoint: endpoint, outcome: outcome)]?.increment()
            durations[endpoint]?.record(took / .seconds(1))
        case .rejected(let endpoint, let reason):
            rejected[UpstreamRejectionLabels(endpoint: endpoint, reason: reason)]?.increment()
        case .retried(let endpoint): retries[endpoint]?.increment()
        case .breakerMoved(let endpoint, let transition):
            transitions[BreakerTransitionLabels(endpoint: endpoint, transition: transition)]?.increment()
            logger.warning(
                "Circuit breaker changed state",
                metadata: [
                    "upstream": "\(endpoint.environment.rawValue)", "from": "\(transition.from.rawValue)",
                    "to": "\(transition.to.rawValue)",
                ])
        case .disagreed(let endpoint, _): disagreements[endpoint]?.increment()
        case .contradicted(let endpoint, let contradiction):
            contradictions[contradiction]?.increment()
            logger.error(
                "An answer in Apple's name contradicts what Apple signed and was rejected",
                metadata: [
                    "upstream": "\(endpoint.environment.rawValue)", "contradiction": "\(contradiction.rawValue)",
                ])
        case .unproven(let endpoint): unproven[endpoint]?.increment()
        case .joinedFlight: joins.increment()
        case .lookedUp(let result): lookups[CacheLookupLabel(cache: result)]?.increment()
        case .refreshedEarly: earlyRefreshes.increment()
        case .purged: purges.increment()
        case .leased(let outcome): leases[outcome]?.increment()
        case .degraded(let reason): degraded[reason]?.increment()
        }
    }
}
