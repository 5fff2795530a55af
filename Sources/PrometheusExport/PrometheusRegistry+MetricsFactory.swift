// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import CoreMetrics

/// The interface of swift-metrics. Library labels have dots and no units (`http.requests`), Prometheus names
/// underscores and units: declare the family `http_requests_total` for it.
extension PrometheusRegistry: MetricsFactory {
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, "_total", dimensions) { $0 as? PrometheusCounter } ?? NOOPMetricsHandler.instance
    }

    /// Returns the series of a histogram if the values are aggregated, else of a gauge.
    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        series(label, "", dimensions) { $0 is PrometheusHistogram == aggregate ? $0 as? any RecorderHandler : nil }
            ?? NOOPMetricsHandler.instance
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, "", dimensions) { $0 as? PrometheusGauge } ?? NOOPMetricsHandler.instance
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, "_seconds", dimensions) { $0 as? PrometheusHistogram } ?? NOOPMetricsHandler.instance
    }

    // Declared series stay.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    private func series<Handler>(
        _ label: String, _ unit: String, _ dimensions: [(String, String)], as cast: (any Instrument) -> Handler?
    ) -> Handler? {
        let name = String(decoding: label.utf8.map { $0.isMetricNameByte ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
        guard let registered = families[name] ?? families[name + unit],
            registered.family.labelNames.count == dimensions.count
        else { return counted(nil) }
        let values = registered.family.labelNames.compactMap { name in dimensions.first { $0.0 == name }?.1 }
        return counted(registered.instrument(values).flatMap(cast))
    }
}
