// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The reason why a text is no valid scenario, with its line.
package struct ScenarioError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Fault: Hashable, Sendable {
        case tooLarge(maximumBytes: Int)
        case tooManyPhases(maximum: Int)
        case notYAML(String)
        /// A name that is unknown in its place.
        case unknownName(String, known: [String])
        case missing(String)
        /// A value that its name does not accept.
        case wrongValue(of: String, needed: String)
        /// Two names with the same or the opposite meaning.
        case contradiction(String, String)
    }

    /// Counted from 1; nil if no line is at fault.
    package let line: Int?
    package let fault: Fault

    package init(line: Int?, fault: Fault) {
        self.line = line
        self.fault = fault
    }

    /// One sentence that says how to fix the scenario, without any of its values.
    package var description: String {
        (line.map { "line \($0): " } ?? "") + reason
    }

    private var reason: String {
        switch fault {
        case .tooLarge(let maximumBytes): "a scenario may have at most \(maximumBytes) bytes"
        case .tooManyPhases(let maximum): "a scenario may have at most \(maximum) phases"
        case .notYAML(let problem): "not valid YAML: \(problem)"
        case .unknownName(let name, let known):
            "'\(name)' is unknown here; known are \(known.joined(separator: ", "))"
        case .missing(let name): "'\(name)' is missing"
        case .wrongValue(let name, let needed): "'\(name)' takes \(needed)"
        case .contradiction(let first, let second): "'\(first)' and '\(second)' cannot be combined"
        }
    }
}
