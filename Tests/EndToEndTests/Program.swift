// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport

/// A product of this package, run as a separate process.
struct Program {
    let url: URL

    /// Uses the product beside the test bundle.
    init(_ name: String) {
        url = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: name)
    }

    private init(path: String) {
        url = URL(filePath: path)
    }

    static let shell = Program(path: "/bin/sh")
    /// Runs the program named by its first argument, found in PATH.
    static let named = Program(path: "/usr/bin/env")
    static let gateway = Program("receipt-gateway")
    static let loadTest = Program("receipt-loadtest")

    struct Outcome {
        let status: Int32
        let output: String
        let errors: String
    }

    /// Runs to the end. The tests' own environment does not configure the gateway.
    func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Outcome {
        let process = prepared(arguments, environment)
        let output = Pipe(), errors = Pipe()
        (process.standardOutput, process.standardError) = (output, errors)
        let exit = process.exitStatus
        try process.run()
        let outputText = output.readToEnd(), errorText = errors.readToEnd()
        return Outcome(status: await exit.value, output: await outputText.value, errors: await errorText.value)
    }

    func prepared(_ arguments: [String], _ environment: [String: String]) -> Process {
        let process = Process()
        process.executableURL = url
        process.arguments = arguments
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GATEWAY_") }
        process.environment = inherited.merging(environment) { $1 }
        return process
    }
}

extension Process {
    /// The exit status, once the process has ended. Must be read before the process is run.
    var exitStatus: Task<Int32, Never> {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        terminationHandler = { process in
            continuation.yield(process.terminationStatus)
            continuation.finish()
        }
        return Task { await stream.first { _ in true } ?? -1 }
    }
}

extension Pipe {
    /// Reads until the writer closes, on a thread of its own: on one of the concurrency pool, which has one for each
    /// core, all other tests would wait for the program.
    func readToEnd() -> Task<String, Never> {
        let reader = fileHandleForReading
        let (texts, continuation) = AsyncStream<String>.makeStream()
        Thread.detachNewThread {
            continuation.yield(String(decoding: (try? reader.readToEnd()) ?? Data(), as: UTF8.self))
            continuation.finish()
        }
        return Task { await texts.first { _ in true } ?? "" }
    }

    /// The lines, each read only when it is requested.
    var linesOnDemand: AsyncStream<String> {
        let reader = fileHandleForReading
        return AsyncStream(unfolding: {
            var line = Data()
            while let part = try? reader.read(upToCount: 1), !part.isEmpty, part != Data("\n".utf8) { line += part }
            return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
        })
    }

    /// Returns the lines as they are written; `transcript` also receives those after the stream is abandoned.
    func lines(keptIn transcript: Transcript) -> AsyncStream<String> {
        let reader = fileHandleForReading
        return AsyncStream { continuation in
            Thread.detachNewThread {
                var rest = Data()
                while case let part = reader.availableData, !part.isEmpty {
                    var lines = (rest + part).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                    rest = Data(lines.removeLast())
                    for line in lines.map({ String(decoding: $0, as: UTF8.self) }) {
                        transcript.add(line)
                        continuation.yield(line)
                    }
                }
                transcript.end()
                continuation.finish()
            }
        }
    }
}

/// The output of a process so far, also in a file if the test's results are kept.
final class Transcript: Sendable {
    private struct State {
        var lines: [String] = []
        var isComplete = false
        var file: FileHandle?
    }

    private let state: Mutex<State>

    /// - Parameter server: the name of the file.
    init(of server: String) {
        let file = ServerLog.file(of: server)
        if let file { _ = FileManager.default.createFile(atPath: file.path, contents: nil) }
        state = Mutex(State(file: file.flatMap { try? FileHandle(forWritingTo: $0) }))
    }

    var lines: [String] { state.withLock { $0.lines } }
    /// True if the process can write no more.
    var isComplete: Bool { state.withLock { $0.isComplete } }

    func add(_ line: String) {
        state.withLock { state in
            state.lines.append(line)
            try? state.file?.write(contentsOf: Data("\(line)\n".utf8))
        }
    }

    func end() {
        state.withLock { $0.isComplete = true }
    }
}

/// A folder that is removed after the test.
final class ScratchFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "receipt-gateway-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func write(_ text: String, to name: String) throws -> String {
        let file = url.appending(path: name)
        try Data(text.utf8).write(to: file)
        return file.path
    }
}
