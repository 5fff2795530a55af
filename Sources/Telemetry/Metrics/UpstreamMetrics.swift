// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Logging
package import Receipts
internal import Resilience

/// Counts the events of requests to Apple, which are few and slow, and logs the events that need an operator.
package struct UpstreamMetrics: Sendable {
    private let registry: PrometheusRegistry
    private let logger: Logger
    private let lookups: [CacheLookupLabel: PrometheusCounter]
    private let degraded: [DegradedReason: PrometheusCounter]

    package init(_ registry: PrometheusRegistry, logger: Logger) {
        (self.registry, self.logger) = (registry, logger)
        lookups = registry.counters(MetricCatalogue.cacheLookups)
        degraded = registry.counters(MetricCatalogue.degraded)
    }

    package func observe(_ event: UpstreamEvent) {
        switch event {
        case .completed(let endpoint, let outcome, let took):
            registry.count(MetricCatalogue.upstreamRequests, EndpointLabels(endpoint, outcome))
            registry.histogram(MetricCatalogue.upstreamDuration, endpoint.labelValues).record(took / .seconds(1))
        case .rejected(let endpoint, let reason):
            registry.count(MetricCatalogue.upstreamRejected, EndpointLabels(endpoint, LocalRejection(reason: reason)))
        case .retried(let endpoint): registry.count(MetricCatalogue.upstreamRetries, endpoint)
        case .breakerChanged(let endpoint, let transition):
            registry.count(MetricCatalogue.breakerTransitions, EndpointLabels(endpoint, transition))
            logger.warning(
                "Circuit breaker changed state",
                metadata: endpoint.metadata([
                    "from": "\(transition.from.rawValue)", "to": "\(transition.to.rawValue)",
                ]))
        case .disagreed(let endpoint, _): registry.count(MetricCatalogue.disagreements, endpoint)
        case .contradicted(let endpoint, let contradiction):
            registry.count(MetricCatalogue.contradictions, contradiction)
            logger.log(
                level: contradiction.showsInterception ? .error : .warning,
                contradiction.showsInterception
                    ? "An answer in Apple's name is not Apple's, or about another app, and was rejected"
                    : "An answer of Apple contradicts what Apple signed and was rejected",
                metadata: endpoint.metadata(["contradiction": "\(contradiction.rawValue)"]))
        case .leftOut(let endpoint, let item):
            registry.count(MetricCatalogue.unreadableItems, endpoint)
            logger.warning(
                "An item of Apple's answer cannot be read and was left out",
                metadata: endpoint.metadata(["fault": "\(item.fault)"]))
        case .unproven(let endpoint): registry.count(MetricCatalogue.unprovenAnswers, endpoint)
        case .joinedFlight: registry.counter(MetricCatalogue.coalescedRequests).increment()
        case .lookedUp(let result): lookups[CacheLookupLabel(cache: result)]?.increment()
        case .refreshedEarly: registry.counter(MetricCatalogue.earlyRefreshes).increment()
        case .purged: registry.counter(MetricCatalogue.cachePurges).increment()
        case .leased(let outcome): registry.count(MetricCatalogue.flightLeases, outcome)
        case .degraded(let reason): degraded[reason]?.increment()
        case .called(let operation, let environment, let outcome):
            registry.count(
                MetricCatalogue.serverAPICalls, ServerAPICallLabels(LabelPair(operation, environment), outcome))
        case .unknownTransaction: registry.counter(MetricCatalogue.unknownTransactionIDs).increment()
        }
    }
}

extension UpstreamEndpoint {
    /// Returns the metadata of a log line about this endpoint.
    fileprivate func metadata(_ others: Logger.Metadata) -> Logger.Metadata {
        others.merging(["api": "\(api.rawValue)", "upstream": "\(environment.rawValue)"]) { own, _ in own }
    }
}

extension UpstreamState {
    package func readings(clock: @escaping @Sendable () -> Timestamp) -> [MetricReading] {
        UpstreamEndpoint.allCases.flatMap { endpoint in
            breakerReadings(of: endpoint) + readings(of: endpoint, clock: clock)
        }
    }

    private func breakerReadings(of endpoint: UpstreamEndpoint) -> [MetricReading] {
        CircuitBreaker.State.Name.allCases.map { [guards] state in
            MetricReading(MetricCatalogue.breakerState, EndpointLabels(endpoint, state).labelValues) {
                guards.health(of: endpoint).breaker == state ? 1 : 0
            }
        }
    }

    private func readings(
        of endpoint: UpstreamEndpoint, clock: @escaping @Sendable () -> Timestamp
    ) -> [MetricReading] {
        let health = { @Sendable [guards] in guards.health(of: endpoint) }
        let dates = { @Sendable [lifecycle] in lifecycle.state(of: endpoint).dates }
        let values: [(MetricFamily, @Sendable () -> Double)] = [
            (MetricCatalogue.upstreamInFlight, { Double(health().inFlight) }),
            (MetricCatalogue.upstreamWaiting, { Double(health().waiting) }),
            (MetricCatalogue.upstreamLimit, { Double(health().concurrencyLimit) }),
            (MetricCatalogue.upstreamPause, { health().pausedFor.map { clock().advanced(by: $0).seconds } ?? 0 }),
            (MetricCatalogue.deprecation, { dates().deprecation?.seconds ?? 0 }),
            (MetricCatalogue.sunset, { dates().sunset?.seconds ?? 0 }),
            (MetricCatalogue.sunsetRampRatio, { dates().stage(at: clock()).rampShare }),
        ]
        return values.map { MetricReading($0, endpoint.labelValues, value: $1) }
    }
}

extension Timestamp {
    /// Seconds since 1970.
    var seconds: Double { Double(millisecondsSince1970) / 1000 }
}
