// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// The option for the gateway's program.
struct GatewayProgram: ParsableArguments {
    @Option(
        name: .customLong("gateway"),
        help: ArgumentHelp("The gateway's program (default: the one beside this program).", valueName: "path"))
    var chosen: String?

    var path: String { chosen ?? ThisProgram.neighbour("receipt-gateway") }
}

/// The form of results on standard output.
enum OutputFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    case text
    case json
}

extension ParsableArguments {
    /// Throws unless the condition holds.
    func check(_ condition: Bool, _ message: String) throws(ValidationError) {
        guard condition else { throw ValidationError(message) }
    }
}
