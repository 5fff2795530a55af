// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A family with its instruments and the constant parts of its text.
struct RegisteredFamily: Sendable {
    let family: MetricFamily
    private let head: String
    /// The lines of each series up to their values, in the order of declaration.
    private let lineStarts: [[String]]
    private var instruments: [any Instrument]
    private let indices: [[String]: Int]
    private var reading: SeriesReading?

    init(_ family: MetricFamily) {
        self.family = family
        head = family.headText
        lineStarts = family.labelSets.map(family.lineStarts)
        instruments = family.labelSets.map { _ in family.makeInstrument() }
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
        text += head
        for (starts, instrument) in zip(lineStarts, instruments) {
            for (start, value) in zip(starts, instrument.valueTexts) {
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
        let text = help.escaped([#"\"#: #"\\"#, "\n": #"\n"#])
        return "# HELP \(name) \(text)\n# TYPE \(name) \(typeName)\n"
    }

    private var typeName: String {
        switch kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }

    /// Returns the lines of a series up to their values: one line, or for a histogram a line per bucket, the sum and
    /// the count.
    func lineStarts(_ labelValues: [String]) -> [String] {
        let labels = zip(labelNames, labelValues).map { name, value in Self.label(name, value) }
        guard case .histogram(let bounds) = kind else { return [Self.lineStart(name, labels)] }
        let buckets = (bounds + [.infinity]).map { bound in
            Self.lineStart(name + "_bucket", labels + [Self.label("le", bound.metricText)])
        }
        return buckets + ["_sum", "_count"].map { Self.lineStart(name + $0, labels) }
    }

    private static func label(_ name: String, _ value: String) -> String {
        let text = value.escaped([#"\"#: #"\\"#, "\n": #"\n"#, "\"": #"\""#])
        return "\(name)=\"\(text)\""
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
    fileprivate func escaped(_ replacements: [Unicode.Scalar: String]) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in text += replacements[scalar] ?? String(scalar) }
    }
}
