// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Receipts
internal import Yams

/// A configuration file, flattened to one text with its line for each setting. JSON is read as YAML.
struct ConfigurationFile: Sendable {
    struct Entry: Hashable, Sendable {
        /// The value as written; list elements joined with commas.
        var text: String
        var line: Int
    }

    let path: String
    /// The entries by full name: `gateway.http.port`.
    private(set) var entries: [String: Entry] = [:]
    /// The maximum number of entries read; there are about sixty settings.
    static let maximumEntries = 1000
    private(set) var problems: [ConfigurationProblem] = []

    init(path: String, text: String) {
        self.path = path
        do throws(YAMLFault) {
            guard let root = try YAMLText.root(of: text) else { return }
            flatten(root, name: "")
        } catch {
            report(error.description, "", line: nil)
        }
    }

    /// Returns an entry's place: `gateway.http.port (gateway.yaml:3)`.
    func location(of name: String) -> String {
        location(name, line: entries[name]?.line)
    }

    private func location(_ name: String, line: Int?) -> String {
        let location = path + (line.map { ":\($0)" } ?? "")
        return name.isEmpty ? location : "\(name.printable()) (\(location))"
    }

    var provider: InMemoryProvider {
        let values = entries.map { name, entry in
            (AbsoluteConfigKey(ConfigKey(name)), ConfigValue(.string(entry.text), isSecret: true))
        }
        return InMemoryProvider(name: path, values: Dictionary(uniqueKeysWithValues: values))
    }

    private mutating func flatten(_ node: Node, name: String) {
        let line = node.mark?.line ?? 0
        switch node {
        case .mapping(let mapping): flatten(mapping, name: name)
        case .sequence(let sequence) where sequence.allSatisfy { $0.scalar != nil } && !name.isEmpty:
            enter(sequence.compactMap(\.scalar?.string).joined(separator: ","), as: name, line: line)
        case .scalar(let scalar) where !name.isEmpty: enter(scalar.string, as: name, line: line)
        default: report("is neither a value nor a group of settings", name, line: name.isEmpty ? nil : line)
        }
    }

    /// Adds an entry. `gateway.http.port: 80` and `port` within groups are one setting, but two names to YAML.
    private mutating func enter(_ text: String, as name: String, line: Int) {
        if let earlier = entries[name] { return report("is already set on line \(earlier.line)", name, line: line) }
        guard entries.count < Self.maximumEntries else {
            let fault = "has more than \(Self.maximumEntries) settings"
            if !problems.contains(where: { $0.fault == fault }) { report(fault, "", line: nil) }
            return
        }
        entries[name] = Entry(text: text, line: line)
    }

    private mutating func flatten(_ mapping: Node.Mapping, name: String) {
        for (key, value) in mapping {
            if let part = key.string {
                flatten(value, name: name.isEmpty ? part : "\(name).\(part)")
            } else {
                report("has a name that is not a text", name, line: key.mark?.line)
            }
        }
    }

    private mutating func report(_ fault: String, _ name: String, line: Int?) {
        problems.append(ConfigurationProblem(location: location(name, line: line), fault: fault))
    }
}

/// The reason why a YAML text is rejected: one line, without values of the text, which may be secrets.
struct YAMLFault: Error, Hashable, Sendable, CustomStringConvertible {
    let description: String
}

/// Parses YAML, and JSON as its subset, into a tree no larger than the text.
///
/// Anchors and aliases are rejected: a short text with nested ones can expand to a tree that fits no memory, and
/// nothing in these files needs them.
enum YAMLText {
    /// The maximum number of asterisks before a word, which aliases begin with. So few cannot make the tree large; the
    /// parser then tells aliases from asterisks in texts.
    static let maximumAsterisks = 16

    /// Returns the root of the only document; nil for an empty text.
    static func root(of text: String) throws(YAMLFault) -> Node? {
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
            self.init(description: "is not valid YAML: \(problem) on line \(mark.line)")
        case YamlError.duplicatedKeysInMapping(let duplicates, _):
            let names = duplicates.sorted().prefix(5).map { $0.printable() }
            self.init(description: "has the same key twice: \(names.joined(separator: ", "))")
        default: self.init(description: "is not valid YAML")
        }
    }
}
