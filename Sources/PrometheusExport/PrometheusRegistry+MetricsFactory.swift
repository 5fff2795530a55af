// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics

/// The interface of swift-metrics. Library labels have dots and no units (`http.requests`), Prometheus names
/// underscores and units: declare the family `http_requests_total` for it.
extension PrometheusRegistry: MetricsFactory {
    /// Returns the series of a counter.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        guard case .counter(let counter) = instrument(label, "_total", dimensions) else { return discarded() }
        return counter
    }

    /// Returns the series of a histogram if the values are aggregated, else of a gauge.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        switch (instrument(label, "", dimensions), aggregate) {
        case (.histogram(let histogram), true): histogram
        case (.gauge(let gauge), false): gauge
        default: discarded()
        }
    }

    /// Returns the series of a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        guard case .gauge(let gauge) = instrument(label, "", dimensions) else { return discarded() }
        return gauge
    }

    /// Returns the series of a histogram of seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        guard case .histogram(let histogram) = instrument(label, "_seconds", dimensions) else { return discarded() }
        return histogram
    }

    /// Does nothing: declared series stay.
    public func destroyCounter(_ handler: any CounterHandler) {}

    /// Does nothing: declared series stay.
    public func destroyRecorder(_ handler: any RecorderHandler) {}

    /// Does nothing: declared series stay.
    public func destroyMeter(_ handler: any MeterHandler) {}

    /// Does nothing: declared series stay.
    public func destroyTimer(_ handler: any TimerHandler) {}

    private func discarded() -> NOOPMetricsHandler {
        noteUndeclared()
        return .instance
    }

    private func instrument(_ label: String, _ unit: String, _ dimensions: [(String, String)]) -> Instrument? {
        let name = String(decoding: label.utf8.map { $0.isMetricNameByte ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
        guard let registered = family(named: name) ?? family(named: name + unit),
            registered.family.labelNames.count == dimensions.count
        else { return nil }
        let values = registered.family.labelNames.compactMap { name in dimensions.first { $0.0 == name }?.1 }
        return registered.instrument(values)
    }
}
