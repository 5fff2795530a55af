// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import Receipts
package import Settings

package struct ReloadMetrics: Sendable {
    private let registry: PrometheusRegistry

    /// - Parameter now: the time of the first successful load.
    package init(_ registry: PrometheusRegistry, at now: Timestamp) {
        self.registry = registry
        recordSuccess(at: now)
    }

    package func count(_ reload: LastReload) {
        registry.counter(MetricCatalogue.reloads, reload.result.labelValues).increment()
        registry.gauge(MetricCatalogue.lastReload).set(reload.time.seconds)
        guard reload.result == .refused else { return recordSuccess(at: reload.time) }
        registry.gauge(MetricCatalogue.lastReloadSuccessful).set(0.0)
    }

    private func recordSuccess(at time: Timestamp) {
        registry.gauge(MetricCatalogue.lastReloadSuccessful).set(1.0)
        registry.gauge(MetricCatalogue.configurationLoaded).set(time.seconds)
    }
}

extension ReloadResult: SeriesLabels {
    package static let labelNames = ["result"]
}

extension CurrentAccess {
    package func readings(clock: @escaping @Sendable () -> Timestamp) -> [MetricReading] {
        [
            MetricReading(MetricCatalogue.keyExpiry) { self.now.rules.firstExpiry(after: clock())?.seconds ?? 0 }
        ]
    }
}
