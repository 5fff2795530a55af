// SPDX-License-Identifier: Apache-2.0

package import Yams

/// The reason why a YAML text is rejected: one line, without values of the text, which may be secrets.
package struct YAMLFault: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
}

/// Parses YAML, and JSON as its subset, into a tree no larger than the text.
///
/// Anchors and aliases are rejected. A short text with nested aliases can expand to a tree that fits no memory, and
/// nothing in these files needs them.
package enum YAMLText {
    /// The maximum number of asterisks before a word, which aliases begin with. So few cannot make the tree large; the
    /// parser then distinguishes aliases from asterisks in texts.
    static let maximumAsterisks = 16

    /// Returns the root of the only document; nil for an empty text.
    package static func root(of text: String) throws(YAMLFault) -> Node? {
        if let line = lineWithTooManyAsterisks(text.utf8) {
            throw YAMLFault(
                description: "has more than \(maximumAsterisks) asterisks before a word by line \(line); "
                    + "aliases are not read, and asterisks in texts must be few")
        }
        do {
            let parser = try Parser(yaml: text)
            // Nodes hold their anchors weakly; the parser owns them.
            return try withExtendedLifetime(parser) {
                guard let root = try parser.singleRoot() else { return nil }
                guard let line = root.firstAnchorLine else { return root }
                throw YAMLFault(description: "has an anchor on line \(line); anchors and aliases are not read")
            }
        } catch {
            throw YAMLFault(error)
        }
    }

    private static func lineWithTooManyAsterisks(_ text: String.UTF8View) -> Int? {
        var line = 1, asterisks = 0, isBehindAsterisk = false
        for byte in text {
            // libyaml allows the same bytes in alias names.
            if isBehindAsterisk, byte.isBase64URL { asterisks += 1 }
            if asterisks > maximumAsterisks { return line }
            if byte == UInt8(ascii: "\n") { line += 1 }
            isBehindAsterisk = byte == UInt8(ascii: "*")
        }
        return nil
    }
}

extension Node {
    /// The line of the first anchor in text order. An alias follows its anchor, so the search ends before the tree
    /// exceeds the text.
    fileprivate var firstAnchorLine: Int? {
        if anchor != nil { return mark?.line ?? 0 }
        switch self {
        case .mapping(let mapping):
            return mapping.lazy.compactMap { $0.key.firstAnchorLine ?? $0.value.firstAnchorLine }.first
        case .sequence(let sequence): return sequence.lazy.compactMap(\.firstAnchorLine).first
        case .scalar, .alias: return nil
        }
    }
}

extension YAMLFault {
    fileprivate init(_ error: any Error) {
        switch error {
        case let fault as YAMLFault: self = fault
        case YamlError.scanner(_, let problem, let mark, _), YamlError.parser(_, let problem, let mark, _),
            YamlError.composer(_, let problem, let mark, _):
            self.init(description: "is not valid YAML: \(problem) on line \(mark.line)\(Self.hint(for: problem))")
        case YamlError.duplicatedKeysInMapping(let duplicates, _):
            let names = duplicates.sorted().prefix(5).map { $0.printable() }
            self.init(description: "has the same key twice: \(names.joined(separator: ", "))")
        default: self.init(description: "is not valid YAML")
        }
    }

    /// Returns what usually causes a problem that libyaml describes by its grammar alone.
    private static func hint(for problem: String) -> String {
        switch problem {
        case "did not find expected alphabetic or numeric character": "; write an asterisk in quotes: \"*\""
        case "found character that cannot start any token": "; indent with spaces, and write @, ` and % in quotes"
        case "mapping values are not allowed in this context": "; check the indentation, and write a colon in quotes"
        default: ""
        }
    }
}
