// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import Synchronization

/// A server of somebody else's, run for a test on this machine and ended with it.
///
/// It can be killed, frozen and started again with the same arguments: only the process it started is ever signalled.
public final class RealServer: Sendable {
    /// Why a server is not there.
    public enum Fault: Error, CustomStringConvertible {
        /// It is not installed.
        case missing(String)
        /// It ended, or did not listen in time; what it wrote.
        case notListening(String, wrote: String)
        /// It listens, and answers something else than it should.
        case refused(String, with: String)
        /// The system gave no port.
        case noPort

        /// In one sentence.
        public var description: String {
            switch self {
            case .missing(let name): "\(name) is not installed: run .ci/deps test"
            case .notListening(let name, let wrote): "\(name) does not listen: \(wrote)"
            case .refused(let what, let answer): "\(what): \(answer)"
            case .noPort: "no free port on 127.0.0.1"
            }
        }
    }

    /// The port it listens on, on 127.0.0.1.
    public let port: Int
    /// A folder of its own, removed with it.
    public let folder: URL
    private let executable: URL
    private let arguments: [String]
    /// Nil before the first start.
    private let process = Mutex<ChildProcess?>(nil)

    /// Starts a server and waits until somebody accepts connections at `port`.
    /// - Parameter arguments: made from the port and the server's folder.
    public init(
        _ name: String, port: Int? = nil, arguments: (_ port: Int, _ folder: URL) throws -> [String]
    ) async throws {
        self.port = try port ?? Loopback.freePort()
        executable = try Self.find(name)
        folder = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.arguments = try arguments(self.port, folder)
        try await start()
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts it, again after it was killed, and waits until it accepts connections.
    public func start() async throws {
        let log = folder.appending(path: "output.log")
        let process = try ChildProcess(executable, arguments, folder: folder, output: log)
        self.process.withLock { $0 = process }
        let end = ContinuousClock.now + .seconds(20)
        while !Loopback.accepts(port) {
            guard process.isRunning, ContinuousClock.now < end else {
                throw Fault.notListening(executable.lastPathComponent, wrote: Self.end(of: log))
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Ends it at once, as a crash would (SIGKILL), and waits until it is gone.
    public func kill() {
        signal(SIGKILL)
        process.withLock { $0 }?.wait()
    }
    /// Stops its clock: connections stay open and nothing answers (SIGSTOP).
    public func freeze() { signal(SIGSTOP) }
    /// Lets it go on (SIGCONT).
    public func thaw() { signal(SIGCONT) }
    /// Whether it runs.
    public var isRunning: Bool { process.withLock { $0 }?.isRunning ?? false }
    /// The last of what it wrote.
    public var log: String { Self.end(of: folder.appending(path: "output.log")) }

    private func signal(_ signal: Int32) { process.withLock { $0 }?.signal(signal) }

    private static func end(of log: URL) -> String {
        String(((try? String(contentsOf: log, encoding: .utf8)) ?? "").suffix(2000))
    }

    /// Debian keeps servers outside the usual path.
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
    /// A Redis that keeps nothing on disk.
    /// - Parameter options: further directives, such as `["--maxmemory", "4mb"]`.
    public static func redis(port: Int? = nil, _ options: [String] = []) async throws -> RealServer {
        try await RealServer("redis-server", port: port) { port, folder in
            [
                "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder.path,
            ] + options
        }
    }
}
