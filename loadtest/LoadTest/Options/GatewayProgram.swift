// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// Which gateway a command runs.
struct GatewayProgram: ParsableArguments {
    @Option(
        name: .customLong("gateway"),
        help: ArgumentHelp("The gateway's program (default: the one beside this program).", valueName: "path"))
    var chosen: String?

    /// Where it lies.
    var path: String { chosen ?? ThisProgram.neighbour("receipt-gateway") }
}
