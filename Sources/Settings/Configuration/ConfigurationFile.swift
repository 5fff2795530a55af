// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Yams

/// A configuration file, flattened to one text with its line for each setting. JSON is read as YAML.
struct ConfigurationFile: Sendable {
    /// A value and its line.
    struct Entry: Hashable, Sendable {
        /// The value as written; list elements joined with commas.
        var text: String
        /// The line number, from 1.
        var line: Int
    }

    let path: String
    /// The entries by full name: `gateway.http.port`.
    private(set) var entries: [String: Entry] = [:]
    /// The maximum number of entries read; there are about sixty settings.
    static let maximumEntries = 1000
    /// The problems of the file's structure.
    private(set) var problems: [ConfigurationProblem] = []

    init(path: String, text: String) {
        self.path = path
        do throws(YAMLFault) {
            guard let root = try YAMLText.root(of: text) else { return }
            flatten(root, name: "")
        } catch {
            problems.append(ConfigurationProblem(location: path, fault: error.description))
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

    /// The entries as a swift-configuration provider.
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
        case .scalar(let scalar) where !name.isEmpty:
            enter(scalar.string, as: name, line: line)
        default:
            let location = name.isEmpty ? path : location(name, line: line)
            problems.append(
                ConfigurationProblem(location: location, fault: "is neither a value nor a group of settings"))
        }
    }

    /// Adds an entry. `gateway.http.port: 80` and `port` within groups are one setting, but two names to YAML.
    private mutating func enter(_ text: String, as name: String, line: Int) {
        if let earlier = entries[name] {
            let fault = "is already set on line \(earlier.line)"
            return problems.append(ConfigurationProblem(location: location(name, line: line), fault: fault))
        }
        guard entries.count < Self.maximumEntries else {
            let fault = "has more than \(Self.maximumEntries) settings"
            if !problems.contains(where: { $0.fault == fault }) {
                problems.append(ConfigurationProblem(location: path, fault: fault))
            }
            return
        }
        entries[name] = Entry(text: text, line: line)
    }

    private mutating func flatten(_ mapping: Node.Mapping, name: String) {
        for (key, value) in mapping {
            guard let part = key.string else {
                problems.append(
                    ConfigurationProblem(
                        location: location(name, line: key.mark?.line), fault: "has a name that is not a text"))
                continue
            }
            flatten(value, name: name.isEmpty ? part : "\(name).\(part)")
        }
    }
}
