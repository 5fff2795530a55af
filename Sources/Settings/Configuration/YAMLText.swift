// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Yams

/// Why a YAML text is not read: in one line, and never with a part of the text's values, which may be secrets.
struct YAMLFault: Error, Hashable, Sendable, CustomStringConvertible {
    let description: String
}

/// Reads YAML, and the JSON it includes, into a tree whose size is the text's.
///
/// Anchors and aliases are refused: with a few of them, each ten times in the next, a short text stands for a tree that
/// no memory holds, and nothing that is configured here repeats itself.
enum YAMLText {
    /// Asterisks before a word, which aliases begin with. So few cannot make a tree large, and so the parser, which is
    /// the one to tell an alias from an asterisk in a text, may see them.
    static let maximumAsterisks = 16

    /// The root of the only document; nil for an empty text.
    static func root(of text: String) throws(YAMLFault) -> Node? {
        if let line = lineWithTooManyAsterisks(text.utf8) {
            throw YAMLFault(
                description: "has more than \(maximumAsterisks) asterisks before a word by line \(line); "
                    + "aliases are not read, and asterisks in texts must be few")
        }
        do {
            let parser = try Parser(yaml: text)
            // Nodes refer to their anchors weakly; the parser holds them.
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
            if isBehindAsterisk, byte.isPartOfAlias { asterisks += 1 }
            if asterisks > maximumAsterisks { return line }
            if byte == UInt8(ascii: "\n") { line += 1 }
            isBehindAsterisk = byte == UInt8(ascii: "*")
        }
        return nil
    }
}

extension UInt8 {
    /// What libyaml lets aliases have in their names.
    fileprivate var isPartOfAlias: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

extension Node {
    /// The line of the first anchor, in the order of the text. An alias stands behind its anchor, so the search ends
    /// before the first place where the tree is larger than the text.
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
    /// What Yams found, in one line.
    fileprivate init(_ error: any Error) {
        switch error {
        case let fault as YAMLFault: self = fault
        case YamlError.scanner(_, let problem, let mark, _), YamlError.parser(_, let problem, let mark, _),
            YamlError.composer(_, let problem, let mark, _):
            self.init(description: "is not valid YAML: \(problem) on line \(mark.line)")
        case YamlError.duplicatedKeysInMapping(let duplicates, _):
            let names = duplicates.sorted().prefix(5).map { $0.printable() }
            self.init(description: "has the same key twice: \(names.joined(separator: ", "))")
        default: self.init(description: "is not valid YAML")
        }
    }
}
