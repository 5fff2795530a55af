// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// HTML, SVG included, as a value.
///
/// Names of elements and attributes stand in this program; whatever else there is may come from a stranger's file and is
/// escaped where it is written, in `MarkupWriter` alone.
indirect enum Markup: Sendable {
    case element(StaticString, KeyValuePairs<StaticString, String>, [Markup])
    case text(String)
    case group([Markup])
    /// A style sheet of this program's.
    case styleSheet(String)
    /// JSON that readers of the page find under this name.
    case json(id: StaticString, String)

    static let nothing = Markup.group([])

    /// An element.
    static func tag(
        _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String> = [:], _ content: Markup...
    ) -> Markup {
        .element(name, attributes, content)
    }

    /// A number as readers see it, with the number itself and where it stands in the result beside it.
    static func value(_ path: String, _ number: Double?, _ text: String) -> Markup {
        guard let number else { return .tag("span", ["class": "none"], "–") }
        return .tag("data", ["data-path": path, "value": "\(number)"], .text(text))
    }

    /// The whole document, or a part of one.
    var html: String {
        var writer = MarkupWriter()
        writer.write(self)
        return writer.html
    }
}

extension Markup: ExpressibleByStringInterpolation, ExpressibleByArrayLiteral {
    init(stringLiteral text: String) {
        self = .text(text)
    }

    init(arrayLiteral parts: Markup...) {
        self = .group(parts)
    }
}

extension [Markup] {
    /// One after the other.
    var group: Markup { .group(self) }
}
