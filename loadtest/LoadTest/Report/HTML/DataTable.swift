// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A table of numbers.
struct DataTable: Sendable {
    var caption = ""
    var columns: [String]
    /// The columns of words, aligned left.
    var words: Set = [0]
    /// A cell for each column; the first is the heading of the row.
    var rows: [[HTML]]
    /// True if the table is as wide as its text, not as the page.
    var isSnug = false

    var html: HTML {
        """
        <div class="wide-table" tabindex="0" role="region" aria-label="\(caption.isEmpty ? label : caption)">
        <table class="\(isSnug ? "snug" : "full")">\(caption.isEmpty ? nil : "<caption>\(caption)</caption>")
        <thead>\(row(columns.map { HTML.text($0) }) { _ in #"th scope="col""# })</thead>
        <tbody>\(rows.map { row($0) { $0 == 0 ? #"th scope="row""# : "td" } })</tbody></table></div>

        """
    }

    private var label: String { columns.joined(separator: ", ") }

    private func row(_ cells: [HTML], _ tag: (Int) -> HTML) -> HTML {
        let cells = cells.enumerated().map { index, cell -> HTML in
            #"<\#(tag(index)) class="\#(words.contains(index) ? "word" : "number")">\#(cell)"#
        }
        return "<tr>\(cells)</tr>\n"
    }
}
