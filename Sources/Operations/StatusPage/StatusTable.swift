// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A table of the status page. Names are those of `/status.json` and of the page's elements; titles are for people.
struct StatusTable: Sendable {
    /// The name and title of a row or column.
    struct Heading: Hashable, Sendable {
        let name: String
        let title: String

        init(_ name: String, _ title: String) { (self.name, self.title) = (name, title) }
    }

    /// A value and its tone.
    struct Cell: Hashable, Sendable {
        let value: StatusValue
        var tone = StatusTone.plain
    }

    /// A row with a cell for each column.
    struct Row: Sendable {
        let heading: Heading
        let cells: [Cell]
    }

    let heading: Heading
    /// One sentence below the title.
    let note: String
    /// The columns. A column without a name is the only one, and has no head.
    let columns: [Heading]
    let rows: [Row]
    /// The plot above the table: a line for each row.
    var plot: StatusPlot?
}

/// The tone of a value. The page never relies on colour alone: the text says the same.
enum StatusTone: String, Sendable {
    case plain, good, notable, bad
}

extension StatusTable {
    static let onlyColumn = [Heading("", "")]

    /// Returns the element name of a cell: `apple.production.breaker`.
    func identifier(_ row: Row, _ column: Heading) -> String {
        [heading.name, column.name, row.heading.name].filter { !$0.isEmpty }.joined(separator: ".")
    }

    var cells: [(identifier: String, cell: Cell)] {
        rows.flatMap { row in zip(columns, row.cells).map { (identifier(row, $0), $1) } }
    }
}

extension StatusTable.Row {
    /// Creates a row of a table with one column.
    init(_ name: String, _ title: String, _ value: StatusValue, _ tone: StatusTone = .plain) {
        self.init(heading: .init(name, title), cells: [.init(value: value, tone: tone)])
    }
}
