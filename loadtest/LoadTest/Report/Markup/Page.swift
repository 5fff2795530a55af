// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A whole page, which loads nothing and runs nothing.
enum Page {
    /// What browsers are told to refuse: everything but the style sheet in the page.
    static let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

    /// A document of these parts.
    static func html(title: String, _ content: [Markup]) -> String {
        let head = Markup.tag(
            "head", [:], .tag("meta", ["charset": "utf-8"]),
            .tag("meta", ["http-equiv": "Content-Security-Policy", "content": policy]),
            .tag("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"]),
            .tag("meta", ["name": "referrer", "content": "no-referrer"]),
            .tag("title", [:], .text(title)), .styleSheet(StyleSheet.text))
        let body = Markup.tag("body", [:], .tag("main", [:], content.group))
        return "<!doctype html>\n" + Markup.tag("html", ["lang": "en"], head, body).html + "\n"
    }

    /// A part with a heading, to which its name links.
    static func section(_ name: String, _ heading: String, _ content: Markup...) -> Markup {
        .tag(
            "section", ["id": name, "aria-labelledby": "\(name)-heading"],
            .tag("h2", ["id": "\(name)-heading"], .text(heading)), content.group)
    }

    /// Names and what they stand for.
    static func facts(_ facts: [(String, Markup)]) -> Markup {
        .tag(
            "dl", ["class": "facts"],
            facts.map { name, value in [.tag("dt", [:], .text(name)), .tag("dd", [:], value)] }.group)
    }

    static func note(_ text: String) -> Markup { .tag("p", ["class": "note"], .text(text)) }
}
