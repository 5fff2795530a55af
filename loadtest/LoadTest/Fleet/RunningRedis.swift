// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A Redis of its own that keeps nothing on disk, on a free port of this machine.
struct RunningRedis: RunningProgram {
    let port: Int
    private let program: ChildProgram

    /// Starts it and waits until it listens.
    ///
    /// - Parameters:
    ///   - port: any free one without it.
    ///   - core: the only core it may use; nil for those that this process has.
    static func start(port: Int? = nil, core: Int? = nil) async throws -> RunningRedis {
        let port = if let port { port } else { try await FreePort.find() }
        let arguments = [
            "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            // Room for every command of a counted round.
            "--slowlog-max-len", "\(maximumCountedCommands)", "--slowlog-log-slower-than", "-1",
        ]
        let path = try InstalledProgram.path("redis-server")
        let program = try ChildProgram(path, arguments, core: core, reading: .standardOutput)
        _ = try await Startup.wait(for: program, at: path) { $0.contains("Ready to accept") ? true : nil }
        return RunningRedis(port: port, program: program)
    }

    /// The most commands that a round may have where each is looked at.
    static let maximumCountedCommands = 100_000

    func stop() async {
        await program.stop()
    }

    /// Ends it at once, as a crash would.
    func kill() async {
        await program.kill()
    }

    /// Asks Redis and returns what it says.
    @discardableResult
    func ask(_ words: [String]) async throws -> String {
        let finished = try await FinishedProgram.run("redis-cli", ["-p", "\(port)"] + words)
        guard finished.status == 0 else { throw FleetError.redis(said: finished.output + finished.errors) }
        return finished.output
    }
}
