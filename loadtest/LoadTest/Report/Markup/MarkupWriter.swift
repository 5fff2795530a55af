// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Writes markup. What a result says cannot leave the place it was put in: here is the only place that escapes.
struct MarkupWriter {
    private(set) var html = ""

    mutating func write(_ markup: Markup) {
        switch markup {
        case .text(let text): escape(text)
        case .group(let parts): for part in parts { write(part) }
        case .element(let name, let attributes, let content): element(name, attributes, content)
        case .styleSheet(let text): html += "<style>\n\(text)</style>\n"
        case .json(let id, let text): script(id, text)
        }
    }

    private mutating func element(
        _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String>, _ content: [Markup]
    ) {
        html += "<\(name)"
        for (name, value) in attributes {
            html += " \(name)=\""
            escape(value)
            html += "\""
        }
        html += ">"
        guard !Self.isVoid(name) else { return }
        for part in content { write(part) }
        html += "</\(name)>"
        if Self.isBlock(name) { html += "\n" }
    }

    /// HTML §13.1.2: void elements have no end tag.
    private static func isVoid(_ name: StaticString) -> Bool { ["br", "meta"].contains(name.description) }

    /// After which a line break changes nothing, so that the page can be read as text.
    private static func isBlock(_ name: StaticString) -> Bool {
        [
            "body", "details", "div", "figure", "h1", "h2", "h3", "head", "header", "li", "main", "p", "path",
            "section", "svg",
        ]
        .contains(name.description) || ["table", "tr", "title", "ul", "dl", "dd", "footer"].contains(name.description)
    }

    /// For text and for attributes in double quotes alike (HTML §13.1.2.3, §13.1.4).
    private mutating func escape(_ text: String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            case "'": html += "&#39;"
            case _ where Self.deceives(scalar): html += "\u{FFFD}"
            default: html.unicodeScalars.append(scalar)
            }
        }
    }

    /// Controls, and what turns the direction of the text that follows.
    private static func deceives(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// HTML §4.12.1.3: nothing in a script may look like a tag or a comment. These characters stand in strings of JSON only,
    /// where `\u003c` says the same.
    private mutating func script(_ id: StaticString, _ json: String) {
        html += "<script type=\"application/json\" id=\"\(id)\">"
        for scalar in json.unicodeScalars {
            switch scalar {
            case "<", ">", "&", "\u{2028}", "\u{2029}": html += "\\u" + Self.hexadecimal(scalar)
            default: html.unicodeScalars.append(scalar)
            }
        }
        html += "</script>\n"
    }

    private static func hexadecimal(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }
}
