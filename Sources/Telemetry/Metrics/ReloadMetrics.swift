// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Receipts

package struct ReloadMetrics: Sendable {
    private let registry: PrometheusRegistry

    /// - Parameter now: the time of the first successful load.
    package init(_ registry: PrometheusRegistry, at now: Timestamp) {
        self.registry = registry
        recordSuccess(at: now)
    }

    package func count(_ result: ReloadResult, at time: Timestamp) {
        registry.counter(MetricCatalogue.reloads, result.labelValues).increment()
        registry.gauge(MetricCatalogue.lastReload).set(time.seconds)
        guard result == .refused else { return recordSuccess(at: time) }
        registry.gauge(MetricCatalogue.lastReloadSuccessful).set(0.0)
    }

    private func recordSuccess(at time: Timestamp) {
        registry.gauge(MetricCatalogue.lastReloadSuccessful).set(1.0)
        registry.gauge(MetricCatalogue.configurationLoaded).set(time.seconds)
    }
}

package enum ReloadResult: String, SeriesLabels {
    case success
    /// The new configuration has problems; the previous configuration stays in force.
    case refused
    case unchanged

    package static let labelNames = ["result"]
}

extension CurrentAccess {
    package func readings(clock: @escaping @Sendable () -> Timestamp) -> [MetricReading] {
        [
            MetricReading(MetricCatalogue.keyExpiry) { self.now.rules.firstExpiry(after: clock())?.seconds ?? 0 }
        ]
    }
}
