// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The storage of one series' value.
enum Instrument: Sendable {
    case counter(PrometheusCounter)
    case gauge(PrometheusGauge)
    case histogram(PrometheusHistogram)
    case reading(@Sendable () -> Double)

    init(_ kind: MetricFamily.Kind) {
        switch kind {
        case .counter: self = .counter(PrometheusCounter())
        case .gauge: self = .gauge(PrometheusGauge())
        case .histogram(let bounds): self = .histogram(PrometheusHistogram(bounds: bounds))
        }
    }
}

/// A family with its instruments and the constant parts of its text.
struct RegisteredFamily: Sendable {
    let family: MetricFamily
    private let head: String
    /// The lines of each series up to their values, in the order of declaration.
    private let lineStarts: [[String]]
    private var instruments: [Instrument]
    private let indices: [[String]: Int]

    init(_ family: MetricFamily) {
        self.family = family
        head = family.headText
        lineStarts = family.labelSets.map(family.lineStarts)
        instruments = family.labelSets.map { _ in Instrument(family.kind) }
        indices = Dictionary(uniqueKeysWithValues: zip(family.labelSets, family.labelSets.indices))
    }

    func instrument(_ labelValues: [String]) -> Instrument? {
        indices[labelValues].map { instruments[$0] }
    }

    /// Replaces the instrument of a series; returns false if there is no such series.
    @discardableResult
    mutating func replace(_ labelValues: [String], with instrument: Instrument) -> Bool {
        guard let index = indices[labelValues] else { return false }
        instruments[index] = instrument
        return true
    }

    /// Registers a reading; returns false for an undeclared series or a histogram.
    mutating func read(_ reading: MetricReading) -> Bool {
        if case .histogram = family.kind { return false }
        return replace(reading.labelValues, with: .reading(reading.value))
    }

    /// Appends the family's current text.
    func write(to text: inout String) {
        text += head
        for (starts, instrument) in zip(lineStarts, instruments) {
            for (start, value) in zip(starts, instrument.valueTexts) {
                text += start
                text += value
                text += "\n"
            }
        }
    }
}

extension Instrument {
    /// The values of the series' lines, in the order of `MetricFamily.lineStarts`.
    fileprivate var valueTexts: [String] {
        switch self {
        case .counter(let counter): return [String(counter.value)]
        case .gauge(let gauge): return [gauge.value.metricText]
        case .reading(let value): return [value().metricText]
        case .histogram(let histogram):
            let counts = histogram.cumulativeCounts.map { String($0) }
            return counts + [histogram.sum.metricText] + counts.suffix(1)
        }
    }
}
