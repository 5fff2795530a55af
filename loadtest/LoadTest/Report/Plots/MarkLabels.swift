// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The names of marks above a plot, in rows so that none covers another.
struct MarkLabels: Sendable {
    struct Label: Hashable, Sendable {
        let text: String
        let x: Double
        let row: Int
        /// True if the text ends at its line: to the right of it there was no room.
        let isBefore: Bool
    }

    /// Names without room are left out; their lines are drawn.
    private(set) var labels: [Label] = []
    private var taken: [[ClosedRange<Double>]] = []
    var rows: Int { taken.count }

    static let maximumRows = 3
    /// The number of lines that are drawn.
    static let maximumMarks = 200
    private static let letterWidth = 6.7

    /// Places names at their moments, the earlier first. The unit of the plot takes the left end of the lowest row.
    init(_ marks: [(x: Double, text: String)], within room: ClosedRange<Double>, letters: Int, unit: String) {
        if !marks.isEmpty { taken = [[0...Double(unit.count) * Self.letterWidth]] }
        for (x, text) in marks {
            place(text.count <= letters ? text : text.prefix(letters - 1) + "…", at: x, room)
        }
    }

    private mutating func place(_ text: String, at x: Double, _ room: ClosedRange<Double>) {
        let width = Double(text.count) * Self.letterWidth
        let isBefore = x + 4 + width > room.upperBound
        let span = isBefore ? (x - 8 - width)...(x - 2) : (x + 2)...(x + 8 + width)
        guard !text.isEmpty, span.lowerBound >= room.lowerBound || !isBefore else { return }
        let row = taken.firstIndex { row in !row.contains { $0.overlaps(span) } } ?? rows
        guard row < Self.maximumRows else { return }
        if row == rows { taken.append([]) }
        taken[row].append(span)
        labels.append(Label(text: text, x: isBefore ? x - 4 : x + 4, row: row, isBefore: isBefore))
    }
}
