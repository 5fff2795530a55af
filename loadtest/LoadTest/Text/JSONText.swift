// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Results for programs.
enum JSONText {
    /// Returns indented JSON with keys in alphabetical order, so that two runs can be compared line by line.
    static func of(_ value: some Encodable) throws -> String {
        try text(of: value, [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    }

    /// Returns one line of JSON with keys in alphabetical order.
    static func compact(_ value: some Encodable) throws -> String {
        try text(of: value, [.sortedKeys, .withoutEscapingSlashes])
    }

    private static func text(of value: some Encodable, _ formatting: JSONEncoder.OutputFormatting) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

/// Rows of right-aligned columns.
struct TextTable {
    let header: [String]
    private var rows: [[String]] = []

    init(header: [String]) {
        self.header = header
    }

    mutating func append(_ row: [String]) {
        precondition(row.count == header.count, "a row has a cell for each of the \(header.count) columns")
        rows.append(row)
    }

    /// The rows as lines, without a line break at the end.
    var text: String {
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        return ([header] + rows).map { line(of: $0, widths) }.joined(separator: "\n")
    }

    private func line(of row: [String], _ widths: [Int]) -> String {
        zip(row, widths).map { cell, width in String(repeating: " ", count: width - cell.count) + cell }
            .joined(separator: "  ")
    }
}
