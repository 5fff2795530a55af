// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
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
    /// Starts a server, writes the lines that say where it listens, and stops it on a signal.
    static func serve<Server: RunningProgram>(_ start: () async throws -> (Server, lines: String)) async throws {
        // Trapped before anything listens, so that a reader of the lines can end the program.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let (server, lines) = try await start()
        StandardOutput.write(lines)
        for await _ in signals { break }
        await server.stop()
    }

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

/// The cores of this process: the first for measured servers, the second for the generator.
struct Cores: Hashable, Sendable {
    /// The cores that this process had when it began.
    let all: [Int]

    static let ofThisProcess = Cores(all: RunResult.Environment.current().allowedCores)

    /// The core of measured servers; nil if there is only one core, which all programs share.
    var server: Int? { all.count > 1 ? all[0] : nil }
    var generator: Int? { all.count > 1 ? all[1] : nil }

    /// Keeps all threads of this process, and the threads they start, to the generator's core.
    func useGenerators() async throws {
        if let generator { try await use("\(generator)") }
    }

    /// Uses all cores again, for work that is not measured.
    func useAll() async throws {
        if all.count > 1 { try await use(all.map(String.init).joined(separator: ",")) }
    }

    private func use(_ list: String) async throws {
        var finished = try await taskset(list)
        // A thread that ends while the threads are gone through makes it fail.
        for _ in 1..<Self.attempts where finished.status != 0 { finished = try await taskset(list) }
        guard finished.status == 0 else { throw BenchError.notPinned(said: finished.errors) }
    }

    private static let attempts = 5

    private func taskset(_ list: String) async throws -> FinishedProgram {
        try await FinishedProgram.run(
            "taskset", ["--all-tasks", "--cpu-list", "--pid", list, "\(ThisProgram.processIdentifier)"])
    }
}

/// A process and the processes it started, as the kernel sees them (proc(5)).
struct ProcessTree: Sendable {
    let root: Int

    var cpuSeconds: Double { entries.map(\.cpuSeconds).reduce(0, +) }

    var residentBytes: Int {
        entries.map { KernelFile("/proc/\($0.process)/status").bytes("VmRSS") ?? 0 }.reduce(0, +)
    }

    /// The number of files, connections among them, that the first of them has open.
    var openFiles: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(root)/fd").count) ?? 0 }

    private var entries: [ProcessEntry] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let all = names.compactMap { Int($0) }.compactMap { ProcessEntry(stat: KernelFile("/proc/\($0)/stat").text) }
        return Self.descendants(of: root, among: all)
    }

    static func descendants(of root: Int, among all: [ProcessEntry]) -> [ProcessEntry] {
        var family: Set<Int> = [root], size = 0
        while size < family.count {
            size = family.count
            for entry in all where family.contains(entry.parent) { family.insert(entry.process) }
        }
        return all.filter { family.contains($0.process) }
    }
}

/// A line of `/proc/PID/stat`.
struct ProcessEntry: Hashable, Sendable {
    let process: Int
    let parent: Int
    /// The time in user and in kernel mode.
    let cpuSeconds: Double

    private static let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))

    /// Reads `PID (NAME) STATE PPID ... UTIME STIME ...`; a name may hold spaces and brackets.
    init?(stat: String, ticksPerSecond: Double = ticksPerSecond) {
        guard let end = stat.lastIndex(of: ")"), let process = Int(stat.prefix { $0 != " " }) else { return nil }
        let fields = stat[end...].split(separator: " ")
        // Behind the bracket: state, parent, and eleven fields later the two times.
        guard fields.count > 13, let parent = Int(fields[2]), let user = Double(fields[12]),
            let system = Double(fields[13])
        else { return nil }
        self.process = process
        self.parent = parent
        cpuSeconds = (user + system) / ticksPerSecond
    }
}
