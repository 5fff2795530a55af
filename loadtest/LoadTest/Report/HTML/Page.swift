// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A page that loads nothing and runs nothing.
enum Page {
    static func html(title: String, _ content: HTML) -> String {
        let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
        let page: HTML = """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="\(policy)">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="referrer" content="no-referrer"><title>\(title)</title>
            \(HTML.styleSheet)
            </head><body><main>
            \(content)
            </main></body></html>

            """
        return page.text
    }

    static func header(
        _ kicker: String, style: HTML, sign: HTML, _ headline: String, verdict: String = "", reasons: [String],
        _ lead: HTML
    ) -> HTML {
        let list: HTML? = reasons.isEmpty ? nil : #"<ul class="reasons">\#(reasons.map { "<li>\($0)</li>" })</ul>"#
        return """
            <header><p class="kicker">\(kicker)</p>
            <h1 class="\(style)" id="verdict" data-verdict="\(verdict)"><span class="sign" aria-hidden="true">\
            \(sign)</span> \(headline)</h1>
            \(list)\(lead)</header>

            """
    }

    static func section(_ name: HTML, _ heading: HTML, _ content: HTML?...) -> HTML {
        """
        <section id="\(name)" aria-labelledby="\(name)-heading"><h2 id="\(name)-heading">\(heading)</h2>
        \(content.compactMap(\.self))</section>

        """
    }

    static func facts(_ facts: KeyValuePairs<HTML, HTML>) -> HTML {
        #"<dl class="facts">\#(facts.map { "<dt>\($0)</dt><dd>\($1)</dd>\n" })</dl>"#
    }

    static func note(_ text: HTML) -> HTML { "<p class=\"note\">\(text)</p>\n" }
    static func code(_ text: String) -> HTML { "<span class=\"code\">\(text)</span>" }
}

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
