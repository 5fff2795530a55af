// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A program that ran to its end.
struct FinishedProgram: Sendable {
    let status: Int32
    let output: String
    let errors: String

    /// Runs a program, found on the path unless it is named by one.
    ///
    /// - Parameter environment: in the place of every `GATEWAY_` variable of this process.
    static func run(
        _ name: String, _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> FinishedProgram {
        let folder = try ScratchFolder()
        defer { folder.remove() }
        let output = try folder.write("", to: "output"), errors = try folder.write("", to: "errors")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [name] + arguments
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GATEWAY_") }
        process.environment = inherited.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        // Files, because a pipe that nobody reads would hold the program up.
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
        try await process.runToEnd()
        return FinishedProgram(
            status: process.terminationStatus, output: try text(of: output), errors: try text(of: errors))
    }

    /// Some programs print what is no text.
    private static func text(of path: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    }
}

extension Process {
    fileprivate func runToEnd() async throws {
        let (ended, ending) = AsyncStream<Void>.makeStream()
        terminationHandler = { _ in ending.finish() }
        try run()
        for await _ in ended {}
        // A task that was cancelled does not wait, but the program must not go on.
        if isRunning {
            terminate()
            throw CancellationError()
        }
    }
}
