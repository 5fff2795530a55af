// SPDX-License-Identifier: Apache-2.0

internal import Yams

/// A value in a scenario, and its name for messages.
package struct YAMLValue: NamedScalar {
    let name: String
    let node: Node

    /// Reads a text; nil for an empty text.
    package static func reading(
        _ text: String, maximumBytes: Int, as name: String
    ) throws(ScenarioError) -> YAMLValue? {
        guard text.utf8.count <= maximumBytes else {
            throw ScenarioError(line: nil, fault: .tooLarge(maximumBytes: maximumBytes))
        }
        do {
            return try Yams.compose(yaml: text).map { YAMLValue(name: name, node: $0) }
        } catch {
            throw ScenarioError(error)
        }
    }

    /// The line, counted from 1.
    package var line: Int? { node.mark?.line }

    package var scalar: String? { node.scalar?.string }
    package var string: String? { scalar }

    /// Returns the elements, each with the name of the list.
    package func list() throws(ScenarioError) -> [YAMLValue] {
        guard let sequence = node.sequence else { throw wrong(needed: "a list") }
        return sequence.map { YAMLValue(name: name, node: $0) }
    }

    /// Returns values under names of the author's choice, which are values named like the mapping.
    package func namedValues() throws(ScenarioError) -> [(name: YAMLValue, value: YAMLValue)] {
        guard let mapping = node.mapping else { throw wrong(needed: "names with values") }
        return mapping.map { (YAMLValue(name: name, node: $0), YAMLValue(name: $0.scalar?.string ?? name, node: $1)) }
    }

    package func wrong(needed: String) -> ScenarioError {
        ScenarioError(line: line, fault: .wrongValue(of: name, needed: needed))
    }
}

/// The fields of a mapping in a scenario. Unknown names are errors.
package struct YAMLFields {
    package let line: Int?
    private var fields: [String: YAMLValue] = [:]

    package init(_ value: YAMLValue, known names: [String]) throws(ScenarioError) {
        line = value.line
        guard let mapping = value.node.mapping else { throw value.wrong(needed: names.joined(separator: ", ")) }
        for (key, node) in mapping {
            guard let name = key.scalar?.string, names.contains(name) else {
                throw ScenarioError(
                    line: key.mark?.line, fault: .unknownName(key.scalar?.string ?? "a list or mapping", known: names))
            }
            fields[name] = YAMLValue(name: name, node: node)
        }
    }

    package subscript(name: String) -> YAMLValue? { fields[name] }

    package func present(of names: [String]) -> [String] {
        names.filter { fields[$0] != nil }
    }

    /// Returns the elements of a list of texts; none without the field.
    func texts(_ name: String) throws(ScenarioError) -> Set<String> {
        Set(try (fields[name]?.list() ?? []).map { value throws(ScenarioError) in try value.text() })
    }

    package func required(_ name: String) throws(ScenarioError) -> YAMLValue {
        guard let value = fields[name] else { throw ScenarioError(line: line, fault: .missing(name)) }
        return value
    }
}

/// One of several names, alone as in `reset`, or with a value as in `{http_status: 503}`.
struct YAMLChoice {
    let name: String
    let value: YAMLValue?
    let line: Int?

    init(_ choice: YAMLValue, known names: [String]) throws(ScenarioError) {
        line = choice.line
        let mapping = choice.node.mapping
        if let word = choice.scalar {
            name = word
            value = nil
        } else if let pair = mapping?.first, mapping?.count == 1, let word = pair.key.scalar?.string {
            name = word
            value = YAMLValue(name: word, node: pair.value)
        } else {
            throw choice.wrong(needed: "one of " + names.joined(separator: ", "))
        }
        guard names.contains(name) else { throw ScenarioError(line: line, fault: .unknownName(name, known: names)) }
    }

    /// Returns the value of a choice that requires a value.
    func required() throws(ScenarioError) -> YAMLValue {
        guard let value else { throw ScenarioError(line: line, fault: .wrongValue(of: name, needed: "a value")) }
        return value
    }

    /// Throws if a choice that takes no value has a value.
    func nothing() throws(ScenarioError) {
        guard value == nil else { throw ScenarioError(line: line, fault: .wrongValue(of: name, needed: "no value")) }
    }
}

extension ScenarioError {
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
