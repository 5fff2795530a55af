// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

/// TCP ports of 127.0.0.1.
enum FreePort {
    /// Below those that the system gives to outgoing connections: a server that is started again finds its own free.
    private static let candidates = 12_000..<32_000
    private static let attempts = 100

    /// A port that nobody listens on.
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

    /// Several, each another one.
    static func find(_ count: Int) async throws(ProgramError) -> [Int] {
        var ports: Set<Int> = []
        while ports.count < count { ports.insert(try await find()) }
        return Array(ports)
    }

    /// Whether somebody accepts connections there.
    static func isTaken(_ port: Int) async -> Bool {
        guard let connection = try? await HTTPConnection.open(port: port) else { return false }
        await connection.close()
        return true
    }
}
