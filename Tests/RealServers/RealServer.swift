// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import LoopbackPorts
internal import Synchronization
internal import TestSupport

/// A server from another project, run for a test on this machine and ended with it.
///
/// It can be killed, frozen and restarted with the same arguments. Only the process it started is ever signalled.
public final class RealServer: Sendable {
    /// The reason why a server is not available.
    public enum Fault: Error, CustomStringConvertible {
        /// It is not installed.
        case missing(String)
        /// It ended, or did not listen in time; with its output.
        case notListening(String, wrote: String)
        /// It listens, and gives an unexpected answer.
        case refused(String, with: String)

        /// The fault in one sentence.
        public var description: String {
            switch self {
            case .missing(let name): "\(name) is not installed: run .ci/deps test"
            case .notListening(let name, let wrote): "\(name) does not listen: \(wrote)"
            case .refused(let what, let answer): "\(what): \(answer)"
            }
        }
    }

    /// The port on 127.0.0.1 that it listens on, also after a restart.
    public var port: Int { reserved.number }
    /// The folder of its own, removed with it.
    public let folder: URL
    private let reserved: ReservedPort
    private let executable: URL
    private let arguments: [String]
    private let environment: [String: String]
    private let output: URL
    private let process = Mutex<ChildProcess?>(nil)

    /// Starts a server and waits until it accepts connections at `port`.
    /// - Parameters:
    ///   - environment: variables added to those of this process.
    ///   - arguments: returns the arguments for the port and the server's folder.
    public init(
        _ name: String, environment: [String: String] = [:],
        arguments: (_ port: Int, _ folder: URL) throws -> [String]
    ) async throws {
        reserved = try ReservedPort()
        executable = try Self.find(name)
        folder = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.arguments = try arguments(reserved.number, folder)
        self.environment = environment
        output = ServerLog.file(of: name) ?? folder.appending(path: "output.log")
        try await start()
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts it, also after it was killed, and waits until it accepts connections.
    public func start() async throws {
        let process = try ChildProcess(
            executable, arguments, environment: environment, folder: folder, output: output)
        self.process.withLock { $0 = process }
        let deadline = ContinuousClock.now + Patience.forEvent
        // The port is reserved: only this process can listen there.
        while !LoopbackPort.accepts(port) {
            guard process.isRunning, ContinuousClock.now < deadline else {
                throw Fault.notListening(executable.lastPathComponent, wrote: log)
            }
            // A process announces an open port to no other process: it can only be polled.
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Kills it at once, like a crash (SIGKILL), and waits until it has ended.
    public func kill() {
        signal(SIGKILL)
        process.withLock { $0 }?.wait()
    }
    /// Stops it: connections stay open without answers (SIGSTOP).
    public func freeze() { signal(SIGSTOP) }
    /// Continues it (SIGCONT).
    public func thaw() { signal(SIGCONT) }
    /// True while it runs.
    public var isRunning: Bool { process.withLock { $0 }?.isRunning ?? false }
    /// The end of its output.
    public var log: String { String(((try? String(contentsOf: output, encoding: .utf8)) ?? "").suffix(2000)) }

    private func signal(_ signal: Int32) { process.withLock { $0 }?.signal(signal) }

    /// Also searches the folders outside the usual path in which Debian keeps servers.
    static func find(_ name: String) throws -> URL {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for folder in path + ["/usr/sbin", "/usr/bin"] {
            let file = URL(filePath: folder).appending(path: name)
            if FileManager.default.isExecutableFile(atPath: file.path) { return file }
        }
        throw Fault.missing(name)
    }
}

extension RealServer {
    /// Starts a Redis that keeps nothing on disk.
    /// - Parameters:
    ///   - options: further directives, such as `["--maxmemory", "4mb"]`.
    ///   - environment: variables of its own, such as `LD_PRELOAD`.
    public static func redis(
        _ options: [String] = [], environment: [String: String] = [:]
    ) async throws -> RealServer {
        try await RealServer("redis-server", environment: environment) { port, folder in
            [
                "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder.path,
                // By default a copy for a replica, or for redis-cli --rdb, waits five seconds for further replicas.
                "--repl-diskless-sync-delay", "0",
            ] + options
        }
    }
}
