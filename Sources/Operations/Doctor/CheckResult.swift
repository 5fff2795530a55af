// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Settings

/// One thing that was looked at, and how it is.
package struct CheckResult: Hashable, Sendable {
    /// How bad it is.
    package enum Level: String, Sendable {
        /// As it should be.
        case ok
        /// It works, and there is something to know or to mend.
        case warning
        /// It does not work, or will not.
        case failed
    }

    /// What belongs together, in the order in which it is shown.
    enum Area: String, CaseIterable, Sendable {
        case configuration, clients, redis, apple, certificates, limits, ports
    }

    let area: Area
    /// What was looked at, in a word; unique within its area but for `configuration`.
    let subject: String
    let level: Level
    /// What was seen, and what it means. Never a secret.
    let seen: String
    /// What to do about it; nil if nothing needs to be done.
    let advice: String?
}

extension ConfigurationProblems {
    /// The problems in the form of the doctor. What is wrong and what to do stand in one sentence already.
    package var observations: [CheckResult] {
        problems.prefix(Self.maximumShown).map {
            CheckResult(
                area: .configuration, subject: "settings", level: .failed, seen: $0.description, advice: nil)
        }
    }
}
