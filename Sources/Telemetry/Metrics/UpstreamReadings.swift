// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import PrometheusExport
package import Receipts

extension UpstreamState {
    /// Returns the state of each endpoint, read at each scrape.
    package func readings(clock: @escaping @Sendable () -> Timestamp) -> [MetricReading] {
        UpstreamEndpoint.allCases.flatMap { endpoint in
            healthReadings(of: endpoint, clock: clock) + lifecycleReadings(of: endpoint, clock: clock)
        }
    }

    private func healthReadings(
        of endpoint: UpstreamEndpoint, clock: @escaping @Sendable () -> Timestamp
    ) -> [MetricReading] {
        let guards = guards, labels = endpoint.labelValues
        let states = BreakerStateLabels.allCases.filter { $0.endpoint == endpoint }.map { series in
            MetricReading(MetricCatalogue.breakerState, series.labelValues) {
                guards.health(of: endpoint).breaker == series.state ? 1 : 0
            }
        }
        return states + [
            MetricReading(MetricCatalogue.upstreamInFlight, labels) { Double(guards.health(of: endpoint).inFlight) },
            MetricReading(MetricCatalogue.upstreamWaiting, labels) { Double(guards.health(of: endpoint).waiting) },
            MetricReading(MetricCatalogue.upstreamLimit, labels) {
                Double(guards.health(of: endpoint).concurrencyLimit)
            },
            MetricReading(MetricCatalogue.upstreamPause, labels) {
                guards.health(of: endpoint).pausedFor.map { clock().advanced(by: $0).seconds } ?? 0
            },
        ]
    }

    private func lifecycleReadings(
        of endpoint: UpstreamEndpoint, clock: @escaping @Sendable () -> Timestamp
    ) -> [MetricReading] {
        let lifecycle = lifecycle, labels = endpoint.labelValues
        return [
            MetricReading(MetricCatalogue.deprecation, labels) {
                lifecycle.state(of: endpoint).dates.deprecation?.seconds ?? 0
            },
            MetricReading(MetricCatalogue.sunset, labels) {
                lifecycle.state(of: endpoint).dates.sunset?.seconds ?? 0
            },
            MetricReading(MetricCatalogue.shareMoved, labels) {
                lifecycle.state(of: endpoint).dates.stage(at: clock()).rampShare
            },
        ]
    }
}

extension Timestamp {
    /// Seconds since 1970.
    var seconds: Double { Double(millisecondsSince1970) / 1000 }
}
