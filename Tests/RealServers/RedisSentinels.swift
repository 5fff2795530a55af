// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A Redis with replicas, and sentinels that promote a replica when the master is lost.
public final class RedisSentinels: Sendable {
    /// The master at the start, then its replicas.
    public let nodes: [RealServer]
    /// The sentinels; any two of them decide.
    public let sentinels: [RealServer]

    /// The sentinels' name of the master.
    public static let masterName = "mymaster"

    /// Starts all servers; returns when the sentinels know each other and the replicas follow.
    /// - Parameters:
    ///   - downAfter: the time for which a silent master is waited for.
    ///   - options: further directives for each Redis.
    ///   - sentinelOptions: further lines for the configuration of each sentinel.
    public init(
        replicas: Int = 2, downAfter: Duration = .milliseconds(500), _ options: [String] = [],
        sentinelOptions: [String] = []
    ) async throws {
        let master = try await RealServer.redis(options)
        var nodes = [master]
        for _ in 0..<replicas {
            nodes.append(try await .redis(["--replicaof", "127.0.0.1 \(master.port)"] + options))
        }
        // Before the sentinels: these ask the master for its replicas at their start, and then every ten seconds.
        for replica in nodes.dropFirst() {
            try await replica.ask("INFO", "replication") { $0.contains("master_link_status:up") }
        }
        var sentinels: [RealServer] = []
        for _ in 0..<3 { sentinels.append(try await Self.sentinel(of: master, downAfter, sentinelOptions)) }
        (self.nodes, self.sentinels) = (nodes, sentinels)
        for sentinel in sentinels {
            try await sentinel.ask("INFO", "sentinel") {
                $0.contains("status=ok") && $0.contains("slaves=\(replicas),sentinels=3")
            }
        }
    }

    /// The hosts of a URL: `127.0.0.1:26379,127.0.0.1:26380`.
    public var hosts: String { sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",") }

    private static func sentinel(
        of master: RealServer, _ downAfter: Duration, _ options: [String]
    ) async throws -> RealServer {
        try await RealServer("redis-server") { port, folder in
            let lines =
                [
                    "port \(port)", "bind 127.0.0.1", "dir \(folder.path)",
                    "sentinel monitor \(masterName) 127.0.0.1 \(master.port) 2",
                    "sentinel down-after-milliseconds \(masterName) \(Int(downAfter / .milliseconds(1)))",
                    "sentinel failover-timeout \(masterName) 3000", "sentinel parallel-syncs \(masterName) 2",
                ] + options
            let file = folder.appending(path: "sentinel.conf")
            try Data(lines.joined(separator: "\n").utf8).write(to: file)
            return [file.path, "--sentinel"]
        }
    }
}
