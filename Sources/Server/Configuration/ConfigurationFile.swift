// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Yams

/// A configuration file, flattened: each setting as text with the line it stands on. JSON is read as the YAML it is.
struct ConfigurationFile: Sendable {
    /// A value and where it stands.
    struct Entry: Hashable, Sendable {
        /// The value as written; the elements of a list joined with commas.
        var text: String
        /// The line, counted from 1.
        var line: Int
    }

    /// The file's path, for messages.
    let path: String
    /// The entries by their full names: `gateway.http.port`.
    private(set) var entries: [String: Entry] = [:]
    /// What is wrong with its shape.
    private(set) var problems: [ConfigurationProblem] = []

    /// Reads the text of a file.
    init(path: String, text: String) {
        self.path = path
        do {
            guard let root = try Yams.compose(yaml: text) else { return }
            flatten(root, name: "")
        } catch {
            problems.append(ConfigurationProblem(place: path, fault: YAMLFault.describe(error)))
        }
    }

    /// Where an entry stands: `gateway.http.port (gateway.yaml:3)`.
    func place(of name: String) -> String {
        "\(name) (\(path)\(entries[name].map { ":\($0.line)" } ?? ""))"
    }

    /// The entries as a provider for swift-configuration.
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
            entries[name] = Entry(text: sequence.compactMap(\.scalar?.string).joined(separator: ","), line: line)
        case .scalar(let scalar) where !name.isEmpty:
            entries[name] = Entry(text: scalar.string, line: line)
        default:
            let place = name.isEmpty ? path : "\(name) (\(path):\(line))"
            problems.append(ConfigurationProblem(place: place, fault: "is neither a value nor a group of settings"))
        }
    }

    private mutating func flatten(_ mapping: Node.Mapping, name: String) {
        for (key, value) in mapping {
            guard let part = key.string else { continue }
            flatten(value, name: name.isEmpty ? part : "\(name).\(part)")
        }
    }
}

/// Puts what Yams found into one line.
enum YAMLFault {
    /// The fault and its line; never a part of the text, which may hold secrets.
    static func describe(_ error: any Error) -> String {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            "is not valid YAML: \(problem) on line \(mark.line)"
        case .duplicatedKeysInMapping(let duplicates, _):
            "has the same key twice: \(duplicates.sorted().joined(separator: ", "))"
        default: "is not valid YAML"
        }
    }
}
