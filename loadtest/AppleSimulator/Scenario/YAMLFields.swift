// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Yams

/// The fields of a mapping in a scenario. Unknown names are errors.
package struct YAMLFields {
    /// The first line of the mapping.
    package let line: Int?
    private var fields: [String: Node] = [:]

    /// - Parameter name: the name of the mapping, for messages.
    package init(_ node: Node, of name: String, known names: [String]) throws(ScenarioError) {
        line = node.line
        guard let mapping = node.mapping else {
            throw ScenarioError(line: line, fault: .wrongValue(of: name, needed: names.joined(separator: ", ")))
        }
        for (key, value) in mapping {
            guard let name = key.scalar?.string, names.contains(name) else {
                throw ScenarioError(
                    line: key.line, fault: .unknownName(key.scalar?.string ?? "a list or mapping", known: names))
            }
            fields[name] = value
        }
    }

    package subscript(name: String) -> Node? { fields[name] }

    /// Returns the names that are present.
    package func present(of names: [String]) -> [String] {
        names.filter { fields[$0] != nil }
    }

    /// Returns the value of a required field.
    package func required(_ name: String) throws(ScenarioError) -> Node {
        guard let node = fields[name] else { throw ScenarioError(line: line, fault: .missing(name)) }
        return node
    }
}

extension YAMLFields {
    package func text(_ name: String) throws(ScenarioError) -> String? {
        try fields[name].map { node throws(ScenarioError) in try node.text(of: name) }
    }

    package func number(_ name: String, in range: ClosedRange<Double>) throws(ScenarioError) -> Double? {
        try fields[name].map { node throws(ScenarioError) in try node.number(of: name, in: range) }
    }

    package func integer(_ name: String, in range: ClosedRange<Int>) throws(ScenarioError) -> Int? {
        try fields[name].map { node throws(ScenarioError) in try node.integer(of: name, in: range) }
    }

    package func list(_ name: String) throws(ScenarioError) -> [Node]? {
        try fields[name].map { node throws(ScenarioError) in try node.list(of: name) }
    }

    package func word<Word: CaseIterable & RawRepresentable<String>>(
        _ name: String, as type: Word.Type
    ) throws(ScenarioError) -> Word? {
        try fields[name].map { node throws(ScenarioError) in try node.word(of: name, as: type) }
    }
}

extension Node {
    /// Reads a text; nil for an empty one.
    package static func reading(_ text: String, maximumBytes: Int) throws(ScenarioError) -> Node? {
        guard text.utf8.count <= maximumBytes else {
            throw ScenarioError(line: nil, fault: .tooLarge(maximumBytes: maximumBytes))
        }
        do {
            return try Yams.compose(yaml: text)
        } catch {
            throw ScenarioError(error)
        }
    }

    /// The line, counted from 1.
    package var line: Int? { mark?.line }

    package func list(of name: String) throws(ScenarioError) -> [Node] {
        guard let sequence else { throw wrongValue(of: name, needed: "a list") }
        return Array(sequence)
    }

    /// Returns a non-empty text.
    package func text(of name: String) throws(ScenarioError) -> String {
        guard let text = scalar?.string, !text.isEmpty else { throw wrongValue(of: name, needed: "a text") }
        return text
    }

    /// Returns a number within bounds.
    package func number(of name: String, in range: ClosedRange<Double>) throws(ScenarioError) -> Double {
        guard let number = scalar.flatMap({ Double($0.string) }), range.contains(number) else {
            throw wrongValue(of: name, needed: "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns a whole number within bounds.
    package func integer(of name: String, in range: ClosedRange<Int>) throws(ScenarioError) -> Int {
        guard let number = scalar.flatMap({ Int($0.string) }), range.contains(number) else {
            throw wrongValue(of: name, needed: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns one of the words of a type.
    package func word<Word: CaseIterable & RawRepresentable<String>>(
        of name: String, as type: Word.Type
    ) throws(ScenarioError) -> Word {
        guard let word = scalar.flatMap({ Word(rawValue: $0.string) }) else {
            throw wrongValue(of: name, needed: Word.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return word
    }

    package func wrongValue(of name: String, needed: String) -> ScenarioError {
        ScenarioError(line: line, fault: .wrongValue(of: name, needed: needed))
    }
}

extension ScenarioError {
    /// Translates an error of Yams.
    fileprivate init(_ error: any Error) {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            self.init(line: mark.line, fault: .notYAML(problem))
        case .duplicatedKeysInMapping(let keys, let context):
            self.init(
                line: context.mark.line,
                fault: .notYAML("the same name twice: " + keys.sorted().joined(separator: ", ")))
        default: self.init(line: nil, fault: .notYAML("not readable"))
        }
    }
}

/// One of several names, alone as in `reset`, or with a value as in `{http_status: 503}`.
struct YAMLChoice {
    let name: String
    let value: Node?
    let line: Int?

    /// - Parameter field: the name of the field, for messages.
    init(_ node: Node, of field: String, known names: [String]) throws(ScenarioError) {
        line = node.line
        if let word = node.scalar?.string {
            name = word
            value = nil
        } else if let pair = node.mapping?.first, node.mapping?.count == 1, let word = pair.key.scalar?.string {
            name = word
            value = pair.value
        } else {
            throw node.wrongValue(of: field, needed: "one of " + names.joined(separator: ", "))
        }
        guard names.contains(name) else { throw ScenarioError(line: line, fault: .unknownName(name, known: names)) }
    }

    /// Returns the value of a choice that requires one.
    func required() throws(ScenarioError) -> Node {
        guard let value else { throw ScenarioError(line: line, fault: .wrongValue(of: name, needed: "a value")) }
        return value
    }

    /// Throws if a choice without a value has one.
    func nothing() throws(ScenarioError) {
        guard value == nil else { throw ScenarioError(line: line, fault: .wrongValue(of: name, needed: "no value")) }
    }
}
