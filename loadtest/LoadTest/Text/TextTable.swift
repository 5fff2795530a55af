// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A table of right-aligned columns.
struct TextTable {
    let header: [String]
    private var rows: [[String]] = []

    init(header: [String]) {
        self.header = header
    }

    /// Adds a row with one cell per column.
    mutating func append(_ row: [String]) {
        precondition(row.count == header.count, "a row has a cell for each of the \(header.count) columns")
        rows.append(row)
    }

    /// One line per row, without a line break at the end.
    var text: String {
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        return ([header] + rows).map { line(of: $0, widths) }.joined(separator: "\n")
    }

    private func line(of row: [String], _ widths: [Int]) -> String {
        zip(row, widths).map { cell, width in String(repeating: " ", count: width - cell.count) + cell }
            .joined(separator: "  ")
    }
}
