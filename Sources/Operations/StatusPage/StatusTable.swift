// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One table of the status page: what is shown, in rows and columns. Names are those of `/status.json` and of the
/// page's elements; titles are for people.
struct StatusTable: Sendable {
    /// A row or a column.
    struct Heading: Hashable, Sendable {
        let name: String
        let title: String

        init(_ name: String, _ title: String) { (self.name, self.title) = (name, title) }
    }

    /// One value, and how it is meant.
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
    /// One without a name is the only one, and has no head.
    let columns: [Heading]
    let rows: [Row]
    /// What the plot above the table shows: a line for each row.
    var plot: StatusPlot?
}

/// How something is meant. The page never says so by colour alone: what a cell says is in its text.
enum StatusTone: String, Sendable {
    case plain, good, notable, bad
}

extension StatusTable {
    /// The only column of a table without heads.
    static let onlyColumn = [Heading("", "")]

    /// The name of a cell's element: `apple.production.breaker`.
    func identifier(_ row: Row, _ column: Heading) -> String {
        [heading.name, column.name, row.heading.name].filter { !$0.isEmpty }.joined(separator: ".")
    }

    /// All cells with their names.
    var cells: [(identifier: String, cell: Cell)] {
        rows.flatMap { row in zip(columns, row.cells).map { (identifier(row, $0), $1) } }
    }
}

extension StatusTable.Row {
    /// A row of a table with one column.
    init(_ name: String, _ title: String, _ value: StatusValue, _ tone: StatusTone = .plain) {
        self.init(heading: .init(name, title), cells: [.init(value: value, tone: tone)])
    }
}
