// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Yams

/// A configuration file, flattened to one text with its line for each setting. JSON is read as YAML.
struct ConfigurationFile: Sendable {
    struct Entry: Hashable, Sendable {
        enum Content: Hashable, Sendable {
            /// The value as written; list elements joined with commas.
            case text(String)
            /// Nothing: a name whose value, or whose group of settings, is missing.
            case empty
            /// A list with elements that are no texts.
            case groups
        }

        var content: Content
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

    /// Returns the value of a setting; nil without one.
    func text(of name: String) -> String? {
        if case .text(let text) = entries[name]?.content { text } else { nil }
    }

    /// Returns the first entry that stands in place of a setting's value and is none, and its fault.
    func unusableEntry(of name: String) -> (name: String, fault: String)? {
        switch entries[name]?.content {
        case .empty: return (name, "has no value; remove the name, or write a value behind it")
        case .groups: return (name, "is a list whose elements are no texts")
        case .text, nil:
            let below = entries.keys.filter { $0.hasPrefix("\(name).") }.min()
            return below.map { ($0, "is below \(name), which is a setting and no group") }
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
        case _ where name.isEmpty:
            report("must be a group named gateway, with the settings indented below it", "", line: nil)
        case .sequence(let sequence) where sequence.allSatisfy { $0.scalar != nil }:
            enter(.text(sequence.compactMap(\.scalar?.string).joined(separator: ",")), as: name, line: line)
        case .scalar(let scalar): enter(node.null == nil ? .text(scalar.string) : .empty, as: name, line: line)
        default: enter(.groups, as: name, line: line)
        }
    }

    /// Adds an entry. `gateway.http.port: 80` and `port` within groups are one setting, but two names to YAML.
    private mutating func enter(_ content: Entry.Content, as name: String, line: Int) {
        if let earlier = entries[name] { return report("is already set on line \(earlier.line)", name, line: line) }
        guard entries.count < Self.maximumEntries else {
            let fault = "has more than \(Self.maximumEntries) settings"
            if !problems.contains(where: { $0.fault == fault }) { report(fault, "", line: nil) }
            return
        }
        entries[name] = Entry(content: content, line: line)
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
