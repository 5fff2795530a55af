// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics

/// The port through which libraries count. Their labels carry dots and no units (`http.requests`), Prometheus' names
/// carry both underscores and units: the family `http_requests_total` is declared for it.
extension PrometheusRegistry: MetricsFactory {
    /// The series of a counter.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        guard case .counter(let counter) = instrument(label, "_total", dimensions) else { return discarded() }
        return counter
    }

    /// The series of a histogram for what aggregates, of a gauge for what does not.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        switch (instrument(label, "", dimensions), aggregate) {
        case (.histogram(let histogram), true): histogram
        case (.gauge(let gauge), false): gauge
        default: discarded()
        }
    }

    /// The series of a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        guard case .gauge(let gauge) = instrument(label, "", dimensions) else { return discarded() }
        return gauge
    }

    /// The series of a histogram of seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        guard case .histogram(let histogram) = instrument(label, "_seconds", dimensions) else { return discarded() }
        return histogram
    }

    /// Declared series exist for ever.
    public func destroyCounter(_ handler: any CounterHandler) {}

    /// Declared series exist for ever.
    public func destroyRecorder(_ handler: any RecorderHandler) {}

    /// Declared series exist for ever.
    public func destroyMeter(_ handler: any MeterHandler) {}

    /// Declared series exist for ever.
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
