// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import PrometheusExport
package import Receipts
package import Settings

/// Counts reloads of the configuration.
package final class ReloadMetrics: Sendable {
    private let reloads: [ReloadResult: PrometheusCounter]
    private let isSuccessful: PrometheusGauge
    private let lastReload: PrometheusGauge
    private let loaded: PrometheusGauge

    /// - Parameter now: the time of the first successful load.
    package init(_ registry: PrometheusRegistry, at now: Timestamp) {
        reloads = registry.counters(MetricCatalogue.reloads)
        isSuccessful = registry.gauge(MetricCatalogue.lastReloadSuccessful)
        lastReload = registry.gauge(MetricCatalogue.lastReload)
        loaded = registry.gauge(MetricCatalogue.configurationLoaded)
        isSuccessful.set(1.0)
        loaded.set(now.seconds)
    }

    package func count(_ reload: LastReload) {
        reloads[reload.result]?.increment()
        lastReload.set(reload.time.seconds)
        isSuccessful.set(reload.result == .refused ? 0.0 : 1.0)
        if reload.result != .refused { loaded.set(reload.time.seconds) }
    }
}

extension ReloadResult: SeriesLabels {
    package static let labelNames = ["result"]
}

extension CurrentAccess {
    package func readings(clock: @escaping @Sendable () -> Timestamp) -> [MetricReading] {
        [
            MetricReading(MetricCatalogue.keyExpiry) {
                self.now.rules.firstExpiry(after: clock())?.seconds ?? 0
            }
        ]
    }
}
