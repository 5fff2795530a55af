// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One thing wrong with the configuration, in a sentence that starts with where it is.
package struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    /// Where: an environment variable, a key with its file and line, or a file.
    let location: String
    /// What is wrong and what to do.
    let fault: String

    /// Creates a problem.
    package init(location: String, fault: String) {
        self.location = location
        self.fault = fault
    }

    /// On one line, whatever stands in the texts that are quoted.
    package var description: String {
        "\(location.printable(maximum: Self.maximumShownText)): \(fault.printable(maximum: Self.maximumShownText))"
    }

    /// Longer than any place or fault of ours; values that are quoted may go beyond it.
    private static let maximumShownText = 1000
}

/// Everything wrong with the configuration, found in one go.
package struct ConfigurationProblems: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one.
    package let problems: [ConfigurationProblem]

    /// Creates an error of these problems.
    package init(problems: [ConfigurationProblem]) {
        self.problems = problems
    }
    /// How many are shown; after so many somebody has passed the wrong file.
    package static let maximumShown = 100

    package var description: String {
        let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
        let shown = problems.prefix(Self.maximumShown).map { "  - \($0)\n" }
        let rest = problems.count > Self.maximumShown ? "  and \(problems.count - Self.maximumShown) more\n" : ""
        return "\(count) in the configuration:\n" + shown.joined() + rest
    }
}
