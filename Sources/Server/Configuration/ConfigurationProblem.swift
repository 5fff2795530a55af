// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One thing wrong with the configuration, in a sentence that starts with where it is.
struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    /// Where: an environment variable, a key with its file and line, or a file.
    let place: String
    /// What is wrong and what to do.
    let fault: String

    var description: String { "\(place): \(fault)" }
}

/// Everything wrong with the configuration, found in one go.
struct ConfigurationProblems: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one.
    let problems: [ConfigurationProblem]

    var description: String {
        let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
        return "\(count) in the configuration:\n" + problems.map { "  - \($0)\n" }.joined()
    }
}
