// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import LoopbackPorts
internal import Synchronization

/// A started program, which has to be stopped whatever happens to its user.
protocol RunningProgram: Sendable {
    /// Ends it, and waits until it has ended.
    func stop() async
}

extension RunningProgram {
    func whileRunning<Value: Sendable>(_ body: (Self) async throws -> Value) async throws -> Value {
        do {
            let value = try await body(self)
            await stop()
            return value
        } catch {
            await stop()
            throw error
        }
    }
}

/// Programs that are ended together, the last program first.
actor ProgramGroup: RunningProgram {
    private var programs: [any RunningProgram] = []

    func add<Program: RunningProgram>(_ program: Program) -> Program {
        programs.append(program)
        return program
    }

    func stop() async {
        while let last = programs.popLast() { await last.stop() }
    }
}

final class ChildProgram: RunningProgram {
    private enum Limits {
        /// The bytes of the output that are kept; older bytes are dropped.
        static let outputBytes = 1 << 16
        static let end = Duration.seconds(15)
        static let start = Duration.seconds(60)
        static let pause = Duration.milliseconds(10)
    }

    let startedAt: ContinuousClock.Instant
    private let path: String
    private let process: Process
    private let exit: Task<Void, Never>
    private let output: Output

    /// Starts a program by its name, found on the path, or by its own path.
    ///
    /// - Parameters:
    ///   - environment: replaces every `GATEWAY_` variable of this process.
    ///   - core: the only core the program may use; nil for all cores of this process.
    init(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], core: Int? = nil
    ) throws(ProgramError) {
        path = try InstalledProgram.path(name)
        // `taskset` becomes the program, in the same process.
        let pinning = try core.map { core throws(ProgramError) in
            [try InstalledProgram.path("taskset"), "--cpu-list", "\(core)"]
        }
        process = Process.of((pinning ?? []) + [path] + arguments, environment)
        let pipe = Pipe()
        (process.standardOutput, process.standardError) = (pipe, pipe)
        let end = process.end()
        startedAt = .now
        do { try process.runWithSignals() } catch { throw .notStarted(path: path) }
        exit = Task { for await _ in end {} }
        output = Output(pipe, keeping: Limits.outputBytes)
    }

    var processIdentifier: Int { Int(process.processIdentifier) }

    /// Waits until the program accepts connections at these ports; stops it if that takes too long.
    func listens(at ports: Int...) async throws {
        do {
            let waited = try await LongRun.wait(atMost: Limits.start, every: Limits.pause) {
                !process.isRunning || ports.allSatisfy(LoopbackPort.accepts)
            }
            guard waited != nil, process.isRunning else {
                throw ProgramError.notListening(path: path, said: output.lastLine)
            }
        } catch {
            await stop()
            throw error
        }
    }

    /// Ends the program at once, as a crash would, and waits until it is gone.
    func kill() async {
        await Task { [self] in
            if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
            await exit.value
        }.value
    }

    /// Sends SIGTERM and waits until the program has ended, even in a task that was cancelled.
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

    /// The end of a program's output, read by a thread of its own, so that the program never waits for a reader.
    private final class Output: Sendable {
        private let tail = Mutex<[UInt8]>([])

        init(_ pipe: Pipe, keeping limit: Int) {
            let reader = pipe.fileHandleForReading
            Thread.detachNewThread {
                while case let part = reader.availableData, !part.isEmpty {
                    self.tail.withLock { tail in
                        tail += part
                        if tail.count > 2 * limit { tail.removeFirst(tail.count - limit) }
                    }
                }
            }
        }

        var lastLine: String {
            let lines = tail.withLock { $0 }.split(separator: UInt8(ascii: "\n"))
            return String(decoding: lines.last ?? [], as: UTF8.self)
        }
    }
}

extension Process {
    /// A process that inherits the environment, except for every `GATEWAY_` variable.
    fileprivate static func of(_ words: [String], _ environment: [String: String]) -> Process {
        let process = Process()
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GATEWAY_") }
        process.environment = inherited.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        return process
    }

    /// Runs the process with no signal blocked. A child inherits the mask of the thread that starts it, and a thread of
    /// Dispatch blocks SIGTERM: such a child would never end when it is told to.
    fileprivate func runWithSignals() throws {
        var none = sigset_t(), inherited = sigset_t()
        unsafe sigemptyset(&none)
        unsafe pthread_sigmask(SIG_SETMASK, &none, &inherited)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &inherited, nil) }
        try run()
    }

    /// A stream that ends when the process does, to be made before it runs.
    fileprivate func end() -> AsyncStream<Void> {
        let (ended, ending) = AsyncStream<Void>.makeStream()
        terminationHandler = { _ in ending.finish() }
        return ended
    }
}

struct FinishedProgram: Sendable {
    let status: Int32
    let output, errors: String

    /// Runs a program as `ChildProgram` does, to its end.
    static func run(
        _ name: String, _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> FinishedProgram {
        let folder = try ScratchFolder()
        defer { folder.remove() }
        let files = try ["output", "errors"].map { URL(filePath: try folder.write("", to: $0)) }
        let process = Process.of(["/usr/bin/env", name] + arguments, environment)
        // Files, because a full pipe would hold the program up.
        process.standardOutput = try FileHandle(forWritingTo: files[0])
        process.standardError = try FileHandle(forWritingTo: files[1])
        let end = process.end()
        try process.runWithSignals()
        for await _ in end {}
        // A cancelled task does not wait, and then the program must not go on.
        if process.isRunning {
            process.terminate()
            throw CancellationError()
        }
        let texts = try files.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
        return FinishedProgram(status: process.terminationStatus, output: texts[0], errors: texts[1])
    }
}

enum ProgramError: Error, Hashable, CustomStringConvertible {
    case notStarted(path: String)
    /// It ended or did not listen in time; the last line of its output.
    case notListening(path: String, said: String)
    case notInstalled(String)

    var description: String {
        switch self {
        case .notStarted(let path):
            "Cannot run '\(path)'. Build it (swift build --product receipt-gateway) or name another with --gateway."
        case .notListening(let path, let said): "'\(path)' did not begin to listen. \(said)"
        case .notInstalled(let name): "'\(name)' is not installed. Run .ci/deps bench, or install it."
        }
    }
}

enum InstalledProgram {
    /// Debian keeps servers outside the usual path.
    private static let servers = ["/usr/local/sbin", "/usr/sbin", "/sbin"]

    static func path(_ name: String) throws(ProgramError) -> String {
        guard !name.contains("/") else { return name }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let paths = (folders + servers).map { "\($0)/\(name)" }
        guard let path = paths.first(where: FileManager.default.isExecutableFile) else { throw .notInstalled(name) }
        return path
    }
}
