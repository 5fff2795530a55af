// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import CoreMetrics

/// The metrics of a process, and their text in the Prometheus format 0.0.4.
///
/// All series are declared first and start at 0, except the series of the few families that are read at each scrape.
/// Callers get a series' handle once, at the start, and then count without a lock, a lookup or an allocation.
///
/// Requesting an undeclared series is a mistake, but no reason to stop a server: the caller gets a handle that is not
/// exported, and `PrometheusRegistry.undeclared` counts it.
package final class PrometheusRegistry: Sendable {
    /// The number of requests for undeclared series. Part of every registry.
    package static let undeclared = MetricFamily(
        "prometheus_export_undeclared_total", .counter, "Series that are used but not declared.")

    let families: [String: RegisteredFamily]
    private let undeclaredSeries = PrometheusCounter()

    /// Creates a registry of these families, with the series that are read instead of counted.
    /// - Parameter series: the sources of families whose series are listed at each scrape.
    package init(
        _ catalogue: [MetricFamily], readings: [MetricReading] = [], series: [SeriesReading] = []
    ) throws(CatalogueError) {
        var families: [String: RegisteredFamily] = [:]
        var names: Set<String> = []
        for family in catalogue + [Self.undeclared] {
            try family.check()
            for name in family.reservedNames { try family.require(names.insert(name).inserted, else: .nameTaken) }
            families[family.name] = RegisteredFamily(family)
        }
        _ = families[Self.undeclared.name]?.replace([], with: undeclaredSeries)
        for reading in readings {
            let isDeclared = families[reading.family.name]?.replace(reading.labelValues, with: reading) ?? false
            try reading.family.require(isDeclared, else: .readingUndeclared)
        }
        for reading in series {
            let isDeclared = families[reading.family.name]?.read(from: reading) ?? false
            try reading.family.require(isDeclared, else: .readingUndeclared)
        }
        self.families = families
    }

    /// Returns the text of a scrape: families sorted by name, series in the order of declaration.
    package func text() -> String {
        var text = ""
        for family in families.values.sorted(by: { $0.family.name < $1.family.name }) { family.write(to: &text) }
        return text
    }

    // MARK: - Handles

    package func counter(_ family: MetricFamily, _ labelValues: [String] = []) -> PrometheusCounter {
        handle(family, labelValues) ?? PrometheusCounter()
    }

    package func gauge(_ family: MetricFamily, _ labelValues: [String] = []) -> PrometheusGauge {
        handle(family, labelValues) ?? PrometheusGauge()
    }

    package func histogram(_ family: MetricFamily, _ labelValues: [String] = []) -> PrometheusHistogram {
        handle(family, labelValues) ?? PrometheusHistogram(bounds: [])
    }

    private func handle<Handle>(_ family: MetricFamily, _ labelValues: [String]) -> Handle? {
        counted(families[family.name]?.instrument(labelValues) as? Handle)
    }

    func counted<Handle>(_ handle: Handle?) -> Handle? {
        if handle == nil { undeclaredSeries.increment() }
        return handle
    }
}

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
