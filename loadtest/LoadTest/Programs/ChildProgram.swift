// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

/// A program that was started here, and ends when it is told to or fails by itself.
final class ChildProgram: Sendable {
    /// Which of the program's texts is read; the other one is thrown away.
    enum Output: Sendable {
        case standardOutput, standardError
    }

    /// How much is kept, and how long is waited.
    private enum Limits {
        /// Lines that nobody has read; older ones go.
        static let lines = 200
        /// Bytes of a line that has not ended; those before go.
        static let lineBytes = 1 << 16
        /// From SIGTERM to SIGKILL.
        static let end = Duration.seconds(15)
    }

    /// The program's lines, until it ends.
    let lines: AsyncStream<String>
    private let process: Process
    private let exit: Task<Void, Never>

    /// Starts the program.
    ///
    /// - Parameters:
    ///   - environment: in the place of every `GATEWAY_` variable of this process.
    ///   - core: the only core the program may use; nil for those that this process has.
    init(
        _ path: String, _ arguments: [String], environment: [String: String] = [:], core: Int? = nil,
        reading output: Output
    ) throws(ProgramError) {
        let process = Process(), pipe = Pipe()
        // `taskset` becomes the program: the process stays the same.
        let pinning = try core.map { core throws(ProgramError) in
            [try InstalledProgram.path("taskset"), "--cpu-list", "\(core)"]
        }
        let words = (pinning ?? []) + [path] + arguments
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GATEWAY_") }
        process.environment = inherited.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output == .standardOutput ? pipe : FileHandle.nullDevice
        process.standardError = output == .standardError ? pipe : FileHandle.nullDevice
        let (ended, ending) = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in ending.finish() }
        do { try process.run() } catch { throw .notStarted(path: path) }
        self.process = process
        exit = Task { for await _ in ended {} }
        lines = Self.lines(of: pipe)
    }

    var processIdentifier: Int { Int(process.processIdentifier) }

    /// Whether it has not ended.
    var isRunning: Bool { process.isRunning }

    /// Ends the program at once, as a crash would, and waits until it is gone.
    func kill() async {
        await Task { [self] in
            if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
            await exit.value
        }.value
    }

    /// The last line that nobody has read, once the program has ended.
    func lastWords() async -> String {
        await stop()
        var last = ""
        for await line in lines where !line.isEmpty { last = line }
        return last
    }

    /// Tells the program to end and waits until it has, even in a task that was cancelled.
    func stop() async {
        await Task { [self] in
            if process.isRunning { process.terminate() }
            let watchdog = Task { [self] in
                try await Task.sleep(for: Limits.end)
                Foundation.kill(process.processIdentifier, SIGKILL)
            }
            await exit.value
            watchdog.cancel()
        }.value
    }

    /// Reads in a thread of its own, so that the program never waits for a reader.
    private static func lines(of pipe: Pipe) -> AsyncStream<String> {
        let reader = pipe.fileHandleForReading
        return AsyncStream(bufferingPolicy: .bufferingNewest(Limits.lines)) { continuation in
            Thread.detachNewThread {
                // A gateway may log each of fifty thousand requests a second, and nothing is copied twice for it.
                var rest: [UInt8] = []
                while case let part = reader.availableData, !part.isEmpty {
                    rest += part
                    var unread = rest[...]
                    while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                        continuation.yield(String(decoding: unread[..<end], as: UTF8.self))
                        unread = unread[(end + 1)...]
                    }
                    rest = Array(unread.suffix(Limits.lineBytes))
                }
                continuation.finish()
            }
        }
    }
}

/// Why a program cannot be used.
enum ProgramError: Error, Hashable, CustomStringConvertible {
    /// The system cannot run it.
    case notStarted(path: String)
    /// It ended, or said nothing of where it listens; what it said instead.
    case notListening(path: String, said: String)
    /// Nobody installed it.
    case notInstalled(String)
    /// The system has no port left.
    case noPort

    var description: String {
        switch self {
        case .notStarted(let path):
            "Cannot run '\(path)'. Build it (swift build --product receipt-gateway) or name another with --gateway."
        case .notListening(let path, let said): "'\(path)' did not begin to listen. \(said)"
        case .notInstalled(let name): "'\(name)' is not installed. Run .ci/deps bench, or install it."
        case .noPort: "No port of 127.0.0.1 is free."
        }
    }
}
