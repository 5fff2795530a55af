// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Yams

/// The fields of a mapping in a scenario. Every name must be known.
struct YAMLFields {
    /// Where the mapping begins.
    let line: Int?
    private var fields: [String: Node] = [:]

    /// - Parameter name: what the mapping stands for, for messages.
    init(_ node: Node, of name: String, known names: [String]) throws(ScenarioError) {
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

    subscript(name: String) -> Node? { fields[name] }

    /// Those of the names that are there.
    func present(of names: [String]) -> [String] {
        names.filter { fields[$0] != nil }
    }

    /// The value of a field that must be there.
    func required(_ name: String) throws(ScenarioError) -> Node {
        guard let node = fields[name] else { throw ScenarioError(line: line, fault: .missing(name)) }
        return node
    }
}

extension YAMLFields {
    func text(_ name: String) throws(ScenarioError) -> String? {
        try fields[name].map { node throws(ScenarioError) in try node.text(of: name) }
    }

    func number(_ name: String, in range: ClosedRange<Double>) throws(ScenarioError) -> Double? {
        try fields[name].map { node throws(ScenarioError) in try node.number(of: name, in: range) }
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(ScenarioError) -> Int? {
        try fields[name].map { node throws(ScenarioError) in try node.integer(of: name, in: range) }
    }

    func list(_ name: String) throws(ScenarioError) -> [Node]? {
        try fields[name].map { node throws(ScenarioError) in try node.list(of: name) }
    }

    /// One of some words.
    func word<Word: CaseIterable & RawRepresentable<String>>(
        _ name: String, as type: Word.Type
    ) throws(ScenarioError) -> Word? {
        try fields[name].map { node throws(ScenarioError) in try node.word(of: name, as: type) }
    }
}

extension Node {
    /// Counted from 1.
    var line: Int? { mark?.line }

    /// The elements of a list.
    func list(of name: String) throws(ScenarioError) -> [Node] {
        guard let sequence else { throw wrongValue(of: name, needed: "a list") }
        return Array(sequence)
    }

    /// A text that is not empty.
    func text(of name: String) throws(ScenarioError) -> String {
        guard let text = scalar?.string, !text.isEmpty else { throw wrongValue(of: name, needed: "a text") }
        return text
    }

    /// A finite number within bounds.
    func number(of name: String, in range: ClosedRange<Double>) throws(ScenarioError) -> Double {
        guard let number = scalar.flatMap({ Double($0.string) }), range.contains(number) else {
            throw wrongValue(of: name, needed: "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A whole number within bounds.
    func integer(of name: String, in range: ClosedRange<Int>) throws(ScenarioError) -> Int {
        guard let number = scalar.flatMap({ Int($0.string) }), range.contains(number) else {
            throw wrongValue(of: name, needed: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// One of some words.
    func word<Word: CaseIterable & RawRepresentable<String>>(
        of name: String, as type: Word.Type
    ) throws(ScenarioError) -> Word {
        guard let word = scalar.flatMap({ Word(rawValue: $0.string) }) else {
            throw wrongValue(of: name, needed: Word.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return word
    }

    func wrongValue(of name: String, needed: String) -> ScenarioError {
        ScenarioError(line: line, fault: .wrongValue(of: name, needed: needed))
    }
}
