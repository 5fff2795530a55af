// SPDX-License-Identifier: Apache-2.0

internal import Clients
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
