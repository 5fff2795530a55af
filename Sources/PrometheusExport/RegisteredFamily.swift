// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What holds the value of one series.
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

/// A family with the instruments of its series and all of its text that never changes.
struct RegisteredFamily: Sendable {
    let family: MetricFamily
    private let head: String
    /// In the order of declaration: the beginnings of each series' lines, up to their values.
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

    /// The instrument of the series with these labels.
    func instrument(_ labelValues: [String]) -> Instrument? {
        indices[labelValues].map { instruments[$0] }
    }

    /// Lets another instrument hold the value of a series; false if there is no such series.
    @discardableResult
    mutating func replace(_ labelValues: [String], with instrument: Instrument) -> Bool {
        guard let index = indices[labelValues] else { return false }
        instruments[index] = instrument
        return true
    }

    /// Has a series read; false if there is no such series, or it is a histogram.
    mutating func read(_ reading: MetricReading) -> Bool {
        if case .histogram = family.kind { return false }
        return replace(reading.labelValues, with: .reading(reading.value))
    }

    /// Writes the family as it is now.
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
