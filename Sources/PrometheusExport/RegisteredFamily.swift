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

    /// Replaces the instrument of a series; returns false if there is no such series.
    @discardableResult
    mutating func replace(_ labelValues: [String], with instrument: any Instrument) -> Bool {
        guard let index = indices[labelValues] else { return false }
        instruments[index] = instrument
        return true
    }

    /// Registers a reading; returns false for an undeclared series or a histogram.
    mutating func read(_ reading: MetricReading) -> Bool {
        if case .histogram = family.kind { return false }
        return replace(reading.labelValues, with: reading)
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
