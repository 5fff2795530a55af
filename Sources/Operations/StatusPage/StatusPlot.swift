// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Receipts

/// A plot of the last minutes, with one line per row of the table below it.
enum StatusPlot: Int, CaseIterable, Sendable {
    case verdicts, latency, origins, questions

    struct Line: Sendable {
        let heading: StatusTable.Heading
        /// The line's value in a window.
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
                Line("median", "p50") { .latency($0.quantile(0.5, of: .answers)) },
                Line("p99", "p99") { .latency($0.quantile(0.99, of: .answers)) },
            ]
        case .origins:
            [
                Line("near_cache", "near cache", .fromNearCache),
                Line("findings", "cached result", .fromSharedCache),
                Line("receipts", "the receipt itself", .fromReceipts), Line("apple", "Apple", .fromApple),
            ]
        case .questions:
            [
                Line("answered", "answered", .productionAnswered, .sandboxAnswered),
                Line(
                    "failed", "failed", .productionFailed, .sandboxFailed, .productionThrottled, .sandboxThrottled),
                Line("rejected", "rejected locally", .productionRejected, .sandboxRejected),
            ]
        }
    }

    /// Returns the table below the plot, with current and earlier values.
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
        case .origins: .init("origins", "Sources of answers")
        case .questions: .init("questions", "Requests to Apple")
        }
    }

    private var note: String {
        switch self {
        case .verdicts: "per second"
        case .latency: "from the end of a request to the start of its response"
        case .origins: "verdicts per second"
        case .questions: "per second, both endpoints together"
        }
    }
}

// MARK: - The lines' points

extension JSONWriter {
    /// Writes the point between two readings: the time in milliseconds, then the value of each line of each plot.
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

    /// Writes a rounded number: more than three digits are invisible, and double the size.
    private mutating func rounded(_ number: Double) {
        let unit: Double = number < 1 ? 1_000_000 : 1000
        self.number((number * unit).rounded() / unit)
    }
}
