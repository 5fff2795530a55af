// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// HTML, SVG included. Literals are markup of this program; every interpolated string is escaped.
struct HTML: ExpressibleByStringInterpolation, Sendable {
    let text: String

    init(stringLiteral markup: StaticString) {
        text = "\(markup)"
    }

    init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.html
    }

    static var styleSheet: HTML {
        var html = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
        html.html = String(decoding: PackageResources.report_css, as: UTF8.self)
        return "<style>\n\(Hue.css)\(HTML(stringInterpolation: html))</style>"
    }

    static func text(_ text: some CustomStringConvertible) -> HTML { "\(text.description)" }

    /// A number as readers see it, with its unrounded value and its path in the result.
    static func value(_ path: String, _ number: Double?, _ text: (Double) -> String = \.significant) -> HTML {
        guard let number else { return #"<span class="none">–</span>"# }
        return #"<data data-path="\#(path)" value="\#(number.description)">\#(text(number))</data>"#
    }

    static func count(_ path: String, _ count: Int) -> HTML {
        #"<data data-path="\#(path)" value="\#(count.description)">\#(count.grouped)</data>"#
    }
}

extension HTML {
    /// The only code that escapes.
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var html = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            html.reserveCapacity(2 * literalCapacity)
        }

        mutating func appendLiteral(_ markup: StaticString) { html += "\(markup)" }
        mutating func appendInterpolation(_ part: HTML?) { html += part?.text ?? "" }
        mutating func appendInterpolation(_ parts: [HTML]) { for part in parts { html += part.text } }
        mutating func appendInterpolation(_ hue: Hue) { html += hue.rawValue }
        mutating func appendInterpolation(_ coordinate: Double) { html += coordinate.pixels }

        private static let escapes: [Unicode.Scalar: String] = [
            "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;", "\t": "\t", "\n": "\n",
        ]

        /// Escapes text of an element or of an attribute in double quotes (HTML §13.1.2.3, §13.1.4). Control
        /// characters, and characters that change the direction of text, become U+FFFD.
        mutating func appendInterpolation(_ text: String) {
            for scalar in text.unicodeScalars {
                let isDeceptive = scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
                html += Self.escapes[scalar] ?? (isDeceptive ? "\u{FFFD}" : String(scalar))
            }
        }

        /// Escapes JSON in a `script` element, where nothing may look like a tag or a comment (HTML §4.12.1.3). The
        /// escaped characters occur in JSON strings only, where `\u003c` means `<`.
        mutating func appendInterpolation(json: String) {
            let unsafe: Set<Unicode.Scalar> = ["<", ">", "&", "\u{2028}", "\u{2029}"]
            for scalar in json.unicodeScalars {
                if unsafe.contains(scalar) {
                    html += "\\u" + String(0x1_0000 + scalar.value, radix: 16).dropFirst()
                } else {
                    html.unicodeScalars.append(scalar)
                }
            }
        }
    }
}

extension Double {
    /// A coordinate, to a tenth.
    var pixels: String {
        let text = fixed(1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}

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
