// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

/// A Redis of its own that keeps nothing on disk, on a free port of this machine.
struct RunningRedis: RunningProgram {
    let port: Int
    private let program: ChildProgram

    static func start() async throws -> RunningRedis {
        let port = try await freePort()
        let arguments = [
            "redis-server", "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            // Room for every command of a counted round.
            "--slowlog-max-len", "\(maximumCountedCommands)", "--slowlog-log-slower-than", "-1",
        ]
        let program = try ChildProgram("/usr/bin/env", arguments, reading: .standardOutput)
        _ = try await Startup.wait(for: program, at: "redis-server") { $0.contains("Ready to accept") ? true : nil }
        return RunningRedis(port: port, program: program)
    }

    /// The most commands that a round may have where each is looked at.
    static let maximumCountedCommands = 100_000

    func stop() async {
        await program.stop()
    }

    /// Asks Redis and returns what it says.
    @discardableResult
    func ask(_ words: [String]) async throws -> String {
        let finished = try await FinishedProgram.run("redis-cli", ["-p", "\(port)"] + words)
        guard finished.status == 0 else { throw FleetError.redis(said: finished.output + finished.errors) }
        return finished.output
    }

    /// A port that nobody listens on.
    private static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        try await channel.close()
        return port
    }
}
