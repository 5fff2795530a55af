// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

enum FreePort {
    /// Below those that the system gives to outgoing connections: a server that is started again finds its own free. Above
    /// those of the checks of the documentation, which run this program too.
    private static let candidates = 22_000..<32_000
    private static let attempts = 100

    /// Returns a port at which no program listens.
    static func find() async throws(ProgramError) -> Int {
        for _ in 0..<attempts {
            let port = Int.random(in: candidates)
            let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            guard let channel = try? await bootstrap.bind(host: "127.0.0.1", port: port).get() else { continue }
            try? await channel.close()
            return port
        }
        throw .noPort
    }

    static func find(_ count: Int) async throws(ProgramError) -> [Int] {
        var ports: Set<Int> = []
        while ports.count < count { ports.insert(try await find()) }
        return Array(ports)
    }

    static func isTaken(_ port: Int) async -> Bool {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        guard let channel = try? await bootstrap.connect(host: "127.0.0.1", port: port).get() else { return false }
        try? await channel.close()
        return true
    }
}

struct ListeningProgram: RunningProgram {
    let port: Int
    let program: ChildProgram

    /// Starts a program by name, at any free port without `port`, and waits until it listens.
    static func start(
        _ name: String, port: Int? = nil, core: Int? = nil, _ arguments: (_ port: Int) throws -> [String]
    ) async throws -> ListeningProgram {
        let port = if let port { port } else { try await FreePort.find() }
        let program = try ChildProgram(name, try arguments(port), core: core)
        try await program.listens(at: port)
        return ListeningProgram(port: port, program: program)
    }

    func stop() async { await program.stop() }
}

struct RunningGateway: RunningProgram {
    let dataPort: Int
    let adminPort: Int
    let program: ChildProgram

    /// Starts the program and waits until it listens, on free ports unless the settings name them.
    static func start(_ path: String, _ settings: [String: String], core: Int? = nil) async throws -> RunningGateway {
        let gateway = try await launch(path, settings, core: core)
        try await gateway.program.listens(at: gateway.dataPort, gateway.adminPort)
        return gateway
    }

    /// Starts the program and does not wait.
    static func launch(_ path: String, _ settings: [String: String], core: Int? = nil) async throws -> RunningGateway {
        let free = try await FreePort.find(2)
        let usual = [
            "GATEWAY_HTTP_PORT": "\(free[0])", "GATEWAY_ADMIN_PORT": "\(free[1])",
            "GATEWAY_SHUTDOWN_DRAIN_DELAY": "0s", "GATEWAY_SHUTDOWN_GRACE": "1s",
        ]
        let all = usual.merging(settings) { $1 }
        let program = try ChildProgram(path, ["serve"], environment: all, core: core)
        return RunningGateway(
            dataPort: Int(all["GATEWAY_HTTP_PORT"] ?? "") ?? 0, adminPort: Int(all["GATEWAY_ADMIN_PORT"] ?? "") ?? 0,
            program: program)
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

    /// Starts it, at any free port without `port`, and waits until it listens.
    static func start(port: Int? = nil, _ file: AppendOnlyFile? = nil) async throws -> RunningRedis {
        let server = try await ListeningProgram.start("redis-server", port: port) { port in
            ["--port", "\(port)", "--bind", "127.0.0.1", "--save", ""] + persistence(file) + [
                "--slowlog-max-len", "\(maximumLoggedCommands)", "--slowlog-log-slower-than", "-1",
            ]
        }
        return RunningRedis(server: server)
    }

    /// Returns the arguments for an append-only file, or for none.
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
