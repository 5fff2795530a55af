// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Receipts

/// What is drawn as lines over the last minutes: a row of the table below it for each line.
enum StatusPlot: Int, CaseIterable, Sendable {
    case verdicts, latency, origins, questions

    /// One line.
    struct Line: Sendable {
        let heading: StatusTable.Heading
        /// What it shows of a window.
        let value: @Sendable (StatusWindow) -> StatusValue

        fileprivate init(_ name: String, _ title: String, _ value: @escaping @Sendable (StatusWindow) -> StatusValue) {
            heading = .init(name, title)
            self.value = value
        }

        fileprivate init(_ name: String, _ title: String, _ counts: StatusCount...) {
            self.init(name, title) { .rate($0.rate(counts)) }
        }
    }

    /// The lines, in the order of the table.
    var lines: [Line] {
        switch self {
        case .verdicts:
            [
                Line("genuine", "genuine", .genuine), Line("rejected", "rejected", .rejected),
                Line("undecided", "undecided", .undecided),
            ]
        case .latency:
            [
                Line("median", "half within") { .latency($0.quantile(0.5, of: .answers)) },
                Line("p99", "99 of 100 within") { .latency($0.quantile(0.99, of: .answers)) },
            ]
        case .origins:
            [
                Line("near_cache", "near cache", .fromNearCache),
                Line("findings", "what Apple said before", .fromSharedCache),
                Line("receipts", "the receipt itself", .fromReceipts), Line("apple", "Apple, just asked", .fromApple),
            ]
        case .questions:
            [
                Line("answered", "answered", .productionAnswered, .sandboxAnswered),
                Line(
                    "failed", "failed", .productionFailed, .sandboxFailed, .productionThrottled, .sandboxThrottled),
                Line("rejected", "held back here", .productionRejected, .sandboxRejected),
            ]
        }
    }

    /// The table below it: what each line is now, and was.
    func table(_ windows: StatusWindows) -> StatusTable {
        let columns = [
            ("now", "now", windows.beat), ("minute", "1 min", windows.minute), ("all", "10 min", windows.all),
        ]
        return StatusTable(
            heading: heading, note: note, columns: columns.map { .init($0.0, $0.1) },
            rows: lines.map { line in
                StatusTable.Row(heading: line.heading, cells: columns.map { .init(value: line.value($0.2)) })
            }, plot: self)
    }

    private var heading: StatusTable.Heading {
        switch self {
        case .verdicts: .init("verdicts", "Verdicts")
        case .latency: .init("latency", "Time to answer")
        case .origins: .init("origins", "Where answers came from")
        case .questions: .init("questions", "Questions to Apple")
        }
    }

    private var note: String {
        switch self {
        case .verdicts: "given in a second"
        case .latency: "from the end of a request to the beginning of its answer"
        case .origins: "verdicts in a second"
        case .questions: "in a second, both endpoints together"
        }
    }
}

// MARK: - The lines' points

extension JSONWriter {
    /// Writes the values of all lines between two readings: the time in milliseconds, then each line of each plot.
    mutating func sample(_ from: StatusReading, _ to: StatusReading) {
        let window = StatusWindow(from, to)
        array { json in
            json.integer(to.time.millisecondsSince1970)
            for line in StatusPlot.allCases.flatMap(\.lines) { json.point(line.value(window)) }
        }
    }

    private mutating func point(_ value: StatusValue) {
        switch value {
        case .rate(let number?), .latency(let number?): number.isZero ? integer(0) : rounded(number)
        default: null()
        }
    }

    /// Three digits after the first are more than a screen shows, and half the bytes.
    private mutating func rounded(_ number: Double) {
        let unit: Double = number < 1 ? 1_000_000 : 1000
        self.number((number * unit).rounded() / unit)
    }
}
