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

    /// A list of names and values.
    static func facts(_ facts: KeyValuePairs<HTML, HTML>) -> HTML {
        #"<dl class="facts">\#(facts.map { "<dt>\($0)</dt><dd>\($1)</dd>\n" })</dl>"#
    }

    static func note(_ text: HTML) -> HTML { "<p class=\"note\">\(text)</p>\n" }
    static func code(_ text: String) -> HTML { "<span class=\"code\">\(text)</span>" }
}
