// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Yams

/// One of several kinds, written as its name alone, `reset`, or as its name with a value, `{http_status: 503}`.
struct YAMLChoice {
    let name: String
    let value: Node?
    let line: Int?

    /// - Parameter field: the field that holds the choice, for messages.
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

    /// The value of a choice that has one.
    func required() throws(ScenarioError) -> Node {
        guard let value else { throw ScenarioError(line: line, fault: .wrongValue(of: name, needed: "a value")) }
        return value
    }

    /// Throws if a choice that has no value was given one.
    func nothing() throws(ScenarioError) {
        guard value == nil else { throw ScenarioError(line: line, fault: .wrongValue(of: name, needed: "no value")) }
    }
}
