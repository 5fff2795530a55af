// SPDX-License-Identifier: Apache-2.0

internal import Telemetry

/// An entry of a listing for operators.
protocol ListedEntry {
    static var header: [String] { get }
    /// The columns of `header`, printable.
    var row: [String] { get }
    /// A JSON object in one line.
    var operatorJSON: String { get }
}

/// The first entries of a listing, up to a maximum number.
struct LimitedListing<Entry: ListedEntry> {
    private let entries: ArraySlice<Entry>
    private let hasMore: Bool
    private let none: String

    /// - Parameters:
    ///   - found: one entry beyond the maximum shows that there are more.
    ///   - none: the sentence for a listing without entries.
    init(_ found: [Entry], maximum: Int, none: String) {
        entries = found.prefix(maximum)
        hasMore = found.count > maximum
        self.none = none
    }

    var text: String {
        entries.isEmpty ? "" : TextTable(header: Entry.header, rows: entries.map(\.row)).text + "\n"
    }

    var json: String { entries.map { $0.operatorJSON + "\n" }.joined() }

    /// The remark for standard error; empty if all entries were shown.
    var remark: String {
        if entries.isEmpty { return none + "\n" }
        return hasMore ? "There are more. Raise --limit.\n" : ""
    }

    func write(as format: OutputFormat) {
        print(format == .json ? json : text, terminator: "")
        StandardError.write(remark)
    }
}
