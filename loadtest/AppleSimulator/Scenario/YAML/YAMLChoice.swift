// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Yams

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
