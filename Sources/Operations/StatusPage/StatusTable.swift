// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Receipts

/// A table of the status page. Names appear in `/status.json` and in the page's elements; titles are for people.
struct StatusTable: Sendable {
    struct Heading: Hashable, Sendable {
        let name: String
        let title: String

        init(_ name: String, _ title: String) { (self.name, self.title) = (name, title) }
    }

    struct Cell: Hashable, Sendable {
        let value: StatusValue
        let tone: StatusTone

        init(_ value: StatusValue, _ tone: StatusTone = .plain, if applies: Bool = true) {
            (self.value, self.tone) = (value, applies ? tone : .plain)
        }
    }

    struct Row: Sendable {
        let heading: Heading
        let cells: [Cell]
    }

    let heading: Heading
    let note: String
    /// The columns. A column without a name is the only column, and has no head.
    let columns: [Heading]
    let rows: [Row]
    /// The plot above the table: a line for each row.
    var plot: StatusPlot?
}

/// The tone of a value. The page never relies on colour alone: the text has the same meaning.
enum StatusTone: String, Sendable {
    case plain, good, notable, bad
}

extension StatusTable {
    static let onlyColumn = [Heading("", "")]

    init(
        _ name: String, _ title: String, note: String = "", columns: [Heading] = StatusTable.onlyColumn, rows: [Row]
    ) {
        self.init(heading: Heading(name, title), note: note, columns: columns, rows: rows)
    }

    /// Returns the element name of a cell: `apple.production.breaker`.
    func identifier(_ row: Row, _ column: Heading) -> String {
        [heading.name, column.name, row.heading.name].filter { !$0.isEmpty }.joined(separator: ".")
    }

    var cells: [(identifier: String, cell: Cell)] {
        rows.flatMap { row in zip(columns, row.cells).map { (identifier(row, $0), $1) } }
    }
}

extension StatusTable.Row {
    init(
        _ name: String, _ title: String, _ value: StatusValue, _ tone: StatusTone = .plain, if applies: Bool = true
    ) {
        self.init(heading: .init(name, title), cells: [.init(value, tone, if: applies)])
    }
}

/// A plot of the last minutes, with one line per row of the table below it.
struct StatusPlot: Sendable {
    struct Line: Sendable {
        let heading: StatusTable.Heading
        let value: @Sendable (StatusWindow) -> StatusValue

        fileprivate init(_ name: String, _ title: String, _ value: @escaping @Sendable (StatusWindow) -> StatusValue) {
            heading = .init(name, title)
            self.value = value
        }

        fileprivate init(_ name: String, _ title: String, _ counts: [StatusCount]) {
            self.init(name, title) { .rate($0.rate(counts)) }
        }

        fileprivate init(_ name: String, _ title: String, _ count: StatusCount) {
            self.init(name, title, [count])
        }
    }

    let heading: StatusTable.Heading
    let note: String
    var unit = "rate"
    let lines: [Line]

    static let all = [
        StatusPlot(
            heading: .init("verdicts", "Verdicts"), note: "per second",
            lines: [
                Line("genuine", "genuine", .genuine), Line("rejected", "rejected", .rejected),
                Line("undecided", "undecided", .undecided),
            ]),
        StatusPlot(
            heading: .init("latency", "Time to answer"),
            note: "from the end of a request to the start of its response", unit: "seconds",
            lines: [
                Line("median", "p50") { .latency($0.quantile(0.5, of: .answers)) },
                Line("p99", "p99") { .latency($0.quantile(0.99, of: .answers)) },
            ]),
        StatusPlot(
            heading: .init("origins", "Sources of answers"), note: "verdicts per second",
            lines: [
                Line("near_cache", "near cache", .fromNearCache),
                Line("cached_results", "cached result", .fromSharedCache),
                Line("receipts", "the receipt itself", .fromReceipts),
                Line("notifications", "notifications", .fromNotifications), Line("apple", "Apple", .fromApple),
            ]),
        StatusPlot(
            heading: .init("requests", "Requests to Apple"), note: "per second, all endpoints together",
            lines: [
                Line("answered", "answered", UpstreamEndpoint.allCases.map(StatusCount.answered)),
                Line("failed", "failed", UpstreamEndpoint.allCases.map(StatusCount.failed)),
                Line("rejected", "rejected locally", UpstreamEndpoint.allCases.map(StatusCount.unsent)),
            ]),
    ]

    func table(_ windows: StatusWindows) -> StatusTable {
        let columns = [
            ("now", "now", windows.now), ("minute", "1 min", windows.minute), ("all", "10 min", windows.all),
        ]
        return StatusTable(
            heading: heading, note: note, columns: columns.map { .init($0.0, $0.1) },
            rows: lines.map { line in
                StatusTable.Row(heading: line.heading, cells: columns.map { .init(line.value($0.2)) })
            }, plot: self)
    }
}

extension JSONWriter {
    /// Writes the point between two readings: the time in milliseconds, then the value of each line of each plot.
    mutating func sample(_ from: StatusReading, _ to: StatusReading) {
        let window = StatusWindow(from, to)
        array { json in
            json.integer(to.time.millisecondsSince1970)
            for line in StatusPlot.all.flatMap(\.lines) { json.point(line.value(window)) }
        }
    }

    private mutating func point(_ value: StatusValue) {
        switch value {
        case .rate(let number?), .latency(let number?):
            // More than three digits are invisible, and double the size.
            let unit: Double = number < 1 ? 1_000_000 : 1000
            number.isZero ? integer(0) : self.number((number * unit).rounded() / unit)
        default: null()
        }
    }
}
