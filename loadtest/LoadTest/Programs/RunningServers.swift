// SPDX-License-Identifier: Apache-2.0

internal import LoopbackPorts

struct ListeningProgram: RunningProgram {
    var port: Int { reserved.number }
    let reserved: ReservedPort
    let program: ChildProgram

    /// Starts a program by name, at the port of an earlier program or at a new port, and waits until it listens.
    static func start(
        _ name: String, at earlier: ReservedPort? = nil, core: Int? = nil, _ arguments: (_ port: Int) throws -> [String]
    ) async throws -> ListeningProgram {
        let reserved = if let earlier { earlier } else { try ReservedPort() }
        let program = try ChildProgram(name, try arguments(reserved.number), core: core)
        try await program.listens(at: reserved.number)
        return ListeningProgram(reserved: reserved, program: program)
    }

    func stop() async { await program.stop() }
}

struct RunningGateway: RunningProgram {
    typealias Ports = (data: ReservedPort, admin: ReservedPort)

    var dataPort: Int { ports.data.number }
    var adminPort: Int { ports.admin.number }
    let ports: Ports
    let program: ChildProgram

    /// Starts the program at the ports of an earlier gateway or at new ports.
    /// - Parameter isAwaited: true to return when it listens.
    static func start(
        _ path: String, _ settings: [String: String], at earlier: Ports? = nil, core: Int? = nil,
        isAwaited: Bool = true
    ) async throws -> RunningGateway {
        let ports = if let earlier { earlier } else { (data: try ReservedPort(), admin: try ReservedPort()) }
        let usual = [
            "GATEWAY_HTTP_PORT": "\(ports.data.number)", "GATEWAY_ADMIN_PORT": "\(ports.admin.number)",
            "GATEWAY_SHUTDOWN_DRAIN_DELAY": "0s", "GATEWAY_SHUTDOWN_GRACE": "1s",
        ]
        let program = try ChildProgram(path, ["serve"], environment: usual + settings, core: core)
        if isAwaited { try await program.listens(at: ports.data.number, ports.admin.number) }
        return RunningGateway(ports: ports, program: program)
    }

    func stop() async { await program.stop() }
}

/// The file in which Redis records each write.
struct AppendOnlyFile: Hashable, Sendable {
    /// The moments at which Redis has the system write it to the disk; the words of `appendfsync`.
    enum Fsync: String, CaseIterable, Sendable {
        case always, everysec, no
    }

    let fsync: Fsync
    /// The folder of the file. A Redis that starts there reads it.
    let folder: String
}

/// A Redis that keeps nothing on disk, or an append-only file.
struct RunningRedis: RunningProgram {
    let server: ListeningProgram
    var port: Int { server.port }

    /// The most commands that its log of commands keeps.
    static let maximumLoggedCommands = 100_000

    /// Starts it, at the port of an earlier Redis or at a new port, and waits until it listens.
    static func start(at earlier: ReservedPort? = nil, _ file: AppendOnlyFile? = nil) async throws -> RunningRedis {
        let server = try await ListeningProgram.start("redis-server", at: earlier) { port in
            ["--port", "\(port)", "--bind", "127.0.0.1", "--save", ""] + persistence(file) + [
                "--slowlog-max-len", "\(maximumLoggedCommands)", "--slowlog-log-slower-than", "-1",
            ]
        }
        return RunningRedis(server: server)
    }

    static func persistence(_ file: AppendOnlyFile?) -> [String] {
        guard let file else { return ["--appendonly", "no"] }
        return ["--appendonly", "yes", "--appendfsync", file.fsync.rawValue, "--dir", file.folder]
    }

    func stop() async { await server.stop() }

    func kill() async { await server.program.kill() }

    /// Sends a command and returns the reply as text.
    @discardableResult
    func send(_ words: [String]) async throws -> String {
        let finished = try await FinishedProgram.run("redis-cli", ["-p", "\(port)"] + words)
        guard finished.status == 0 else { throw FleetError.redis(said: finished.output + finished.errors) }
        return finished.output
    }
}
