// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Numbers in columns.
struct DataTable: Sendable {
    var caption = ""
    var columns: [Column]
    /// A cell for each column; the first names the row.
    var rows: [[Markup]] = []
    /// As wide as its words, not as the page.
    var isSnug = false

    struct Column: Sendable, ExpressibleByStringLiteral {
        let name: String
        /// Read from the left; numbers are not.
        var isWord = false

        init(stringLiteral name: String) {
            self.name = name
        }

        static func word(_ name: String) -> Column {
            var column = Column(stringLiteral: name)
            column.isWord = true
            return column
        }
    }

    var markup: Markup {
        .tag(
            "div", ["class": "wide-table", "tabindex": "0", "role": "region", "aria-label": label],
            .tag(
                "table", ["class": isSnug ? "snug" : "full"],
                caption.isEmpty ? .nothing : .tag("caption", [:], .text(caption)),
                .tag("thead", [:], .tag("tr", [:], columns.map(heading).group)),
                .tag("tbody", [:], rows.map(row).group)))
    }

    private var label: String { caption.isEmpty ? columns.map(\.name).joined(separator: ", ") : caption }

    private func heading(_ column: Column) -> Markup {
        .tag("th", ["scope": "col", "class": column.isWord ? "word" : "number"], .text(column.name))
    }

    private func row(_ cells: [Markup]) -> Markup {
        .tag(
            "tr", [:],
            zip(columns, cells).enumerated().map { index, cell in
                let style = cell.0.isWord ? "word" : "number"
                return index == 0
                    ? .tag("th", ["scope": "row", "class": style], cell.1) : .tag("td", ["class": style], cell.1)
            }.group)
    }
}
