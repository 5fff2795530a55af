// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Yams

extension ClientsFile {
    /// Returns the fields of a mapping, with a problem for each name not in `names`. Unknown names are hidden where
    /// they may be a misplaced secret.
    mutating func fields(of node: Node, named names: [String], showsUnknown: Bool = true) -> [String: Node] {
        guard let mapping = node.mapping else {
            report("must have the fields \(names.joined(separator: ", "))", at: node)
            return [:]
        }
        var fields: [String: Node] = [:]
        for (key, value) in mapping {
            let name = key.string ?? ""
            fields[name] = value
            guard !names.contains(name) else { continue }
            let hint = NearestName.of(name, among: names).map { "; did you mean \($0)?" } ?? ""
            let shown = showsUnknown ? name.printable() : "a name"
            report("\(shown) is not a field here (\(names.joined(separator: ", "))\(hint))", at: key)
        }
        return fields
    }

    /// Returns the elements of a list; reports a problem if it is none.
    mutating func elements(of node: Node, named name: String) -> [Node] {
        if let sequence = node.sequence { return Array(sequence) }
        report("\(name) must be a list", at: node)
        return []
    }

    /// Returns a non-empty text; reports a problem otherwise.
    mutating func text(_ node: Node?, named name: String, of parent: Node) -> String? {
        if let text = node?.scalar?.string, !text.isEmpty { return text }
        report(node == nil ? "\(name) is missing" : "\(name) must be a text", at: node ?? parent)
        return nil
    }
}
