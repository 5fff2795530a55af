// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Where the names of marks stand: above the plot, in rows, so that none covers another.
struct MarkLabels: Sendable {
    struct Label: Hashable, Sendable {
        let text: String
        let x: Double
        let row: Int
        /// Beside its line on the left: on the right there was no room.
        let isBefore: Bool
    }

    private(set) var labels: [Label] = []
    /// Names for which there was no room; their lines are drawn.
    private(set) var omitted = 0
    private var taken: [[ClosedRange<Double>]] = []

    /// How many rows there are.
    var rows: Int { taken.count }

    static let maximumRows = 3
    /// Lines that are drawn; more would be a wall.
    static let maximumMarks = 200
    private static let letterWidth = 6.7

    /// Places names at their moments, the earlier first. The unit of the plot stands at the left of the lowest row.
    init(_ marks: [(x: Double, text: String)], within room: ClosedRange<Double>, letters: Int, unit: String) {
        if !marks.isEmpty { taken = [[0...Double(unit.count) * Self.letterWidth]] }
        for mark in marks { place(Self.shortened(mark.text, to: letters), at: mark.x, room) }
    }

    private mutating func place(_ text: String, at x: Double, _ room: ClosedRange<Double>) {
        let width = Double(text.count) * Self.letterWidth
        let isBefore = x + 4 + width > room.upperBound
        let span = isBefore ? (x - 8 - width)...(x - 2) : (x + 2)...(x + 8 + width)
        guard !text.isEmpty, span.lowerBound >= room.lowerBound || !isBefore else { return omitted += 1 }
        let free = taken.firstIndex { row in !row.contains { $0.overlaps(span) } }
        guard let row = free ?? (rows < Self.maximumRows ? rows : nil) else { return omitted += 1 }
        if row == rows { taken.append([]) }
        taken[row].append(span)
        labels.append(Label(text: text, x: isBefore ? x - 4 : x + 4, row: row, isBefore: isBefore))
    }

    private static func shortened(_ text: String, to letters: Int) -> String {
        text.count <= letters ? text : text.prefix(letters - 1) + "…"
    }
}
