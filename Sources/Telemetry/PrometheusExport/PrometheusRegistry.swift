// SPDX-License-Identifier: Apache-2.0

package import CoreMetrics

/// The metrics of a process, and their text in the Prometheus format 0.0.4.
///
/// All series are declared first, except the series of the few families that are read at each scrape. A series is exported
/// from the start, at 0, or from its first event on (`MetricFamily.presetLabelSets`). Callers that count often get a series'
/// handle once, at the start, and count without a lookup or an allocation. No caller takes a lock.
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
    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
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

/// A family with its instruments, in the order of its label sets.
struct RegisteredFamily: Sendable {
    let family: MetricFamily
    private var instruments: [any Instrument]
    /// True for each series that is exported while it is 0.
    private let arePreset: [Bool]
    private let indices: [[String]: Int]
    private var reading: SeriesReading?

    init(_ family: MetricFamily) {
        self.family = family
        instruments = family.labelSets.map { _ in family.makeInstrument() }
        arePreset = family.labelSets.map(family.isPreset)
        indices = Dictionary(uniqueKeysWithValues: zip(family.labelSets, family.labelSets.indices))
    }

    func instrument(_ labelValues: [String]) -> (any Instrument)? {
        indices[labelValues].map { instruments[$0] }
    }

    /// Replaces the instrument of a series; returns false if there is no such series, or if it is a histogram.
    mutating func replace(_ labelValues: [String], with instrument: any Instrument) -> Bool {
        guard let index = indices[labelValues], !(instruments[index] is PrometheusHistogram) else { return false }
        instruments[index] = instrument
        return true
    }

    /// Sets the source of the series; returns false if they are declared.
    mutating func read(from reading: SeriesReading) -> Bool {
        self.reading = reading
        return family.isReadAtScrape
    }

    func write(to text: inout String) {
        text += family.headText
        for index in instruments.indices where arePreset[index] || instruments[index].hasCounted {
            let starts = family.lineStarts(family.labelSets[index])
            for (start, value) in zip(starts, instruments[index].valueTexts) {
                text += start
                text += value
                text += "\n"
            }
        }
        for line in reading?.lines ?? [] { text += line }
    }
}

// MARK: - Text

// The text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/

extension MetricFamily {
    var headText: String {
        let text = help.escaped(#"\"#, "\n")
        return "# HELP \(name) \(text)\n# TYPE \(name) \(typeName)\n"
    }

    private var typeName: String {
        switch kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }

    /// Returns a series' lines up to their values: one, or for a histogram a line per bucket, the sum and the count.
    func lineStarts(_ labelValues: [String]) -> [String] {
        let labels = zip(labelNames, labelValues).map { name, value in Self.label(name, value) }
        guard case .histogram(let bounds) = kind else { return [Self.lineStart(name, labels)] }
        let buckets = (bounds + [.infinity]).map { bound in
            Self.lineStart(name + "_bucket", labels + [Self.label("le", bound.metricText)])
        }
        return buckets + ["_sum", "_count"].map { Self.lineStart(name + $0, labels) }
    }

    private static func label(_ name: String, _ value: String) -> String {
        "\(name)=\"\(value.escaped(#"\"#, "\n", "\""))\""
    }

    private static func lineStart(_ name: String, _ labels: [String]) -> String {
        labels.isEmpty ? name + " " : "\(name){\(labels.joined(separator: ","))} "
    }
}

extension Double {
    /// The number as Go's `ParseFloat` reads it; integers without a decimal point.
    var metricText: String {
        if isNaN { return "NaN" }
        if isInfinite { return self < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: self).map { String($0) } ?? description
    }
}

extension String {
    /// Returns the text with a backslash before each of these characters. A line feed becomes `\n`.
    fileprivate func escaped(_ special: Unicode.Scalar...) -> String {
        guard unicodeScalars.contains(where: special.contains) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            if special.contains(scalar) { text += "\\" }
            text.unicodeScalars.append(scalar == "\n" ? "n" : scalar)
        }
    }
}
