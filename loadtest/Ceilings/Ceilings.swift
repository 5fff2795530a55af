// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// The upper bound of a server that verifies nothing: the measure of the gateway.
@main
struct Ceilings: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt-ceilings",
        abstract: "Answer every request with the same bytes: the ceiling for any server on SwiftNIO.",
        discussion: """
            Listens on 127.0.0.1 until it is stopped, and reads the whole body of each request before answering it.
            """,
        subcommands: [BareNIO.self])
}

struct CeilingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Port of 127.0.0.1.", valueName: "port"))
    var port = 8090

    @Option(help: ArgumentHelp("Size of the answers, in bytes.", valueName: "bytes"))
    var bytes = 3000

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be from 0 to 65535.") }
        guard (0...1 << 20).contains(bytes) else { throw ValidationError("--bytes must be from 0 to 1048576.") }
    }

    /// A JSON string of the requested size.
    var answer: String { "\"" + String(repeating: "a", count: max(0, bytes - 2)) + "\"" }
}
