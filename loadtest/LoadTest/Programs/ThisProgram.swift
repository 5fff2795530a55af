// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials
internal import UnixSignals

enum ThisProgram {
    static var path: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }

    static var processIdentifier: Int { Int(ProcessInfo.processInfo.processIdentifier) }

    /// The path of a program in the same folder, where one build puts all programs.
    static func neighbour(_ name: String) -> String {
        URL(filePath: path).deletingLastPathComponent().appending(path: name).path
    }
}

/// Work that ends early, but cleanly, on SIGINT (^C) and SIGTERM.
enum Interruptible {
    /// Cancels the work on a signal and waits until it has cleaned up.
    ///
    /// - Throws: the error of the work, or the exit code of shells for an interrupted program.
    static func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        return try await withThrowingTaskGroup { group in
            group.addTask { try await work() }
            group.addTask {
                for await _ in signals { break }
                // Either a signal came, or the work is done and this is not read.
                throw ExitCode(130)
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}

struct ScratchFolder: Sendable {
    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "receipt-loadtest-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    var path: String { url.path }

    func path(_ name: String) -> String { url.appending(path: name).path }

    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: url.appending(path: name))
        return path(name)
    }

    func makeFolder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(at: url.appending(path: name), withIntermediateDirectories: false)
        return path(name)
    }

    func remove() {
        try? FileManager.default.removeItem(at: url)
    }
}
