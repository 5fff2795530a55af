// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Settings

/// The result of one check.
package struct CheckResult: Hashable, Sendable {
    /// The severity.
    package enum Level: String, Sendable {
        case ok
        /// It works, but needs attention.
        case warning
        /// It does not work, or will stop working.
        case failed
    }

    /// The areas, in the order of the report.
    enum Area: String, CaseIterable, Sendable {
        case configuration, clients, redis, apple, certificates, limits, ports
    }

    let area: Area
    /// The subject, in a word; unique within its area except for `configuration`.
    let subject: String
    let level: Level
    /// The observation and its meaning. Never a secret.
    let seen: String
    /// The advice; nil if there is nothing to do.
    let advice: String?
}

extension ConfigurationProblems {
    /// The problems as observations. One sentence already contains the fault and what to do.
    package var observations: [CheckResult] {
        problems.prefix(Self.maximumShown).map {
            CheckResult(
                area: .configuration, subject: "settings", level: .failed, seen: $0.description, advice: nil)
        }
    }
}
