// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import PrometheusExport
internal import Receipts

extension UpstreamKnowledge {
    /// How each endpoint stands, read at each scrape.
    func readings(clock: @escaping @Sendable () -> Timestamp) -> [MetricReading] {
        UpstreamEnvironment.allCases.flatMap { environment in
            healthReadings(of: environment, clock: clock) + lifecycleReadings(of: environment, clock: clock)
        }
    }

    private func healthReadings(
        of environment: UpstreamEnvironment, clock: @escaping @Sendable () -> Timestamp
    ) -> [MetricReading] {
        let guards = guards, labels = environment.labelValues
        let states = BreakerStateLabels.allCases.filter { $0.environment == environment }.map { series in
            MetricReading(MetricCatalogue.breakerState, series.labelValues) {
                guards.health(of: environment).breaker == series.state ? 1 : 0
            }
        }
        return states + [
            MetricReading(MetricCatalogue.upstreamInFlight, labels) { Double(guards.health(of: environment).inFlight) },
            MetricReading(MetricCatalogue.upstreamWaiting, labels) { Double(guards.health(of: environment).waiting) },
            MetricReading(MetricCatalogue.upstreamLimit, labels) {
                Double(guards.health(of: environment).concurrencyLimit)
            },
            MetricReading(MetricCatalogue.upstreamPause, labels) {
                guards.health(of: environment).pausedFor.map { clock().advanced(by: $0).seconds } ?? 0
            },
        ]
    }

    private func lifecycleReadings(
        of environment: UpstreamEnvironment, clock: @escaping @Sendable () -> Timestamp
    ) -> [MetricReading] {
        let lifecycle = lifecycle, labels = environment.labelValues
        return [
            MetricReading(MetricCatalogue.deprecation, labels) {
                lifecycle.knowledge(of: environment).dates.deprecation?.seconds ?? 0
            },
            MetricReading(MetricCatalogue.sunset, labels) {
                lifecycle.knowledge(of: environment).dates.sunset?.seconds ?? 0
            },
            MetricReading(MetricCatalogue.shareMoved, labels) {
                lifecycle.knowledge(of: environment).dates.stage(at: clock()).shareMoved
            },
        ]
    }
}

extension Timestamp {
    /// Seconds since 1970, as Prometheus counts time.
    var seconds: Double { Double(millisecondsSince1970) / 1000 }
}
