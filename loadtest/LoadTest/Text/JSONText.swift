// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

enum JSONText {
    /// Returns indented JSON with keys in alphabetical order, so that two runs can be compared line by line.
    static func of(_ value: some Encodable) throws -> String { try text(of: value, .prettyPrinted) }

    /// Returns one line of JSON with keys in alphabetical order.
    static func compact(_ value: some Encodable) throws -> String { try text(of: value, []) }

    private static func text(of value: some Encodable, _ layout: JSONEncoder.OutputFormatting) throws -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = layout.union([.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

struct TextTable {
    let header: [String]
    var rows: [[String]] = []

    mutating func append(_ row: [String]) { rows.append(row) }

    /// The rows as lines, without a line break at the end.
    var text: String {
        precondition(rows.allSatisfy { $0.count == header.count }, "a row has a cell for each column")
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        return ([header] + rows).map { line(of: $0, widths) }.joined(separator: "\n")
    }

    private func line(of row: [String], _ widths: [Int]) -> String {
        zip(row, widths).map { cell, width in String(repeating: " ", count: width - cell.count) + cell }
            .joined(separator: "  ")
    }
}
