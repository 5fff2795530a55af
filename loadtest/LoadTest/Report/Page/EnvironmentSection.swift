// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Where the generator ran, so that somebody else can run it there again.
struct EnvironmentSection: Sendable {
    private let result: RunResult

    init(_ result: RunResult) {
        self.result = result
    }

    var markup: Markup { Page.section("environment", "Environment", Page.facts(facts)) }

    private var facts: [(String, Markup)] {
        let environment = result.environment
        return [
            ("started", .text("\(result.startedAt)")),
            (
                "measured",
                [
                    .value(
                        "duration_seconds", result.durationSeconds, result.durationSeconds.rounded(toDecimals: 3).plain),
                    " s",
                ]
            ),
            ("program", "receipt-loadtest \(environment.version)"),
            ("revision", environment.revision.map { .tag("span", ["class": "code"], .text($0)) } ?? "unknown"),
            ("command", .tag("span", ["class": "code"], .text(command))),
            ("processor", .text(environment.cpu)),
            (
                "cores",
                [.count("environment.cores", environment.cores), .text(", allowed: " + allowed)]
            ),
            ("memory", .text(environment.memoryBytes.bytesText)),
            ("kernel", .text(environment.kernel)),
        ]
    }

    /// As one would type it.
    private var command: String {
        result.environment.arguments.map { ShellWord($0).description }.joined(separator: " ")
    }

    private var allowed: String {
        let cores = result.environment.allowedCores
        return cores.isEmpty ? "unknown" : cores.map(String.init).joined(separator: ", ")
    }
}
