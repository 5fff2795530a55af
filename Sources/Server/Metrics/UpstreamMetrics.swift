// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Logging
internal import PrometheusExport
internal import Receipts
internal import Resilience

/// Counts what happens on the way to Apple, and logs what an operator should look at.
final class UpstreamMetrics: GatewayObserver {
    private let logger: Logger
    private let requests: [UpstreamRequestLabels: PrometheusCounter]
    private let durations: [UpstreamEnvironment: PrometheusHistogram]
    private let heldBack: [HeldBackLabels: PrometheusCounter]
    private let retries: [UpstreamEnvironment: PrometheusCounter]
    private let transitions: [BreakerTransitionLabels: PrometheusCounter]
    private let disagreements: [UpstreamEnvironment: PrometheusCounter]
    private let contradictions: [Contradiction: PrometheusCounter]
    private let unproven: [UpstreamEnvironment: PrometheusCounter]
    private let joins: PrometheusCounter
    private let lookups: [FindingLookupLabel: PrometheusCounter]
    private let earlyRefreshes: PrometheusCounter
    private let purges: PrometheusCounter
    private let cacheFaults: [SharedCacheFault: PrometheusCounter]
    private let leases: [LeaseOutcome: PrometheusCounter]
    private let degraded: [DegradedReason: PrometheusCounter]

    init(_ registry: PrometheusRegistry, logger: Logger) {
        self.logger = logger
        requests = registry.counters(MetricCatalogue.upstreamRequests)
        durations = Dictionary(
            uniqueKeysWithValues: UpstreamEnvironment.allCases.map {
                ($0, registry.histogram(MetricCatalogue.upstreamDuration, $0.labelValues))
            })
        heldBack = registry.counters(MetricCatalogue.upstreamHeldBack)
        retries = registry.counters(MetricCatalogue.upstreamRetries)
        transitions = registry.counters(MetricCatalogue.breakerTransitions)
        disagreements = registry.counters(MetricCatalogue.disagreements)
        contradictions = registry.counters(MetricCatalogue.contradictions)
        unproven = registry.counters(MetricCatalogue.unprovenAnswers)
        joins = registry.counter(MetricCatalogue.flightsJoined)
        lookups = registry.counters(MetricCatalogue.findingLookups)
        earlyRefreshes = registry.counter(MetricCatalogue.earlyRefreshes)
        purges = registry.counter(MetricCatalogue.cachePurges)
        cacheFaults = registry.counters(MetricCatalogue.sharedCacheFaults)
        leases = registry.counters(MetricCatalogue.flightLeases)
        degraded = registry.counters(MetricCatalogue.degraded)
    }

    /// Something of the shared cache was of no use.
    func observe(_ fault: SharedCacheFault) { cacheFaults[fault]?.increment() }

    func observe(_ event: GatewayEvent) {
        switch event {
        case .asked(let environment, let outcome, let took):
            requests[UpstreamRequestLabels(environment: environment, outcome: outcome)]?.increment()
            durations[environment]?.record(took / .seconds(1))
        case .heldBack(let environment, let reason):
            heldBack[HeldBackLabels(environment: environment, reason: reason)]?.increment()
        case .retried(let environment): retries[environment]?.increment()
        case .breakerMoved(let environment, let transition):
            transitions[BreakerTransitionLabels(environment: environment, transition: transition)]?.increment()
            logger.warning(
                "Circuit breaker moved",
                metadata: [
                    "upstream": "\(environment.rawValue)", "from": "\(transition.from.rawValue)",
                    "to": "\(transition.to.rawValue)",
                ])
        case .disagreed(let environment, _): disagreements[environment]?.increment()
        case .contradicted(let environment, let contradiction):
            contradictions[contradiction]?.increment()
            logger.error(
                "An answer in Apple's name contradicts what Apple signed, and was refused",
                metadata: ["upstream": "\(environment.rawValue)", "contradiction": "\(contradiction.rawValue)"])
        case .unproven(let environment): unproven[environment]?.increment()
        case .joinedFlight: joins.increment()
        case .lookedUp(let result): lookups[FindingLookupLabel(cache: result)]?.increment()
        case .refreshedEarly: earlyRefreshes.increment()
        case .purged: purges.increment()
        case .leased(let outcome): leases[outcome]?.increment()
        case .degraded(let reason): degraded[reason]?.increment()
        }
    }
}
