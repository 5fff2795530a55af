// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Why a text is no scenario, and on which line.
public struct ScenarioError: Error, Hashable, Sendable {
    /// The rule that was broken.
    public enum Fault: Hashable, Sendable {
        /// Larger than a scenario may be.
        case tooLarge(maximumBytes: Int)
        /// More phases than a scenario may have.
        case tooManyPhases(maximum: Int)
        /// Not YAML; says why.
        case notYAML(String)
        /// A name that means nothing where it stands.
        case unknownName(String, known: [String])
        /// A name that must be there and is not.
        case missing(String)
        /// A value that is not what its name needs.
        case wrongValue(of: String, needed: String)
        /// Two names that say the same or the opposite.
        case contradiction(String, String)
    }

    /// Counted from 1; nil where no line is to blame.
    public let line: Int?
    /// What is wrong.
    public let fault: Fault

    package init(line: Int?, fault: Fault) {
        self.line = line
        self.fault = fault
    }
}

extension ScenarioError: CustomStringConvertible {
    /// One sentence that says what to mend, without any value of the scenario.
    public var description: String {
        (line.map { "line \($0): " } ?? "") + fault.description
    }
}

extension ScenarioError.Fault: CustomStringConvertible {
    /// The sentence without the line.
    public var description: String {
        switch self {
        case .tooLarge(let maximumBytes): "a scenario has \(maximumBytes) bytes at most"
        case .tooManyPhases(let maximum): "a scenario has \(maximum) phases at most"
        case .notYAML(let problem): "not valid YAML: \(problem)"
        case .unknownName(let name, let known):
            "'\(name)' means nothing here; known are \(known.joined(separator: ", "))"
        case .missing(let name): "'\(name)' is missing"
        case .wrongValue(let name, let needed): "'\(name)' takes \(needed)"
        case .contradiction(let first, let second): "'\(first)' and '\(second)' cannot stand together"
        }
    }
}
