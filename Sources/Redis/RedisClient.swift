// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// Redis in any topology: one node, a master with sentinels, or a cluster.
///
/// Commands do not wait for Redis to return: one that no master can take fails at once. None takes longer than the
/// command deadline, redirections included. The client reconnects and finds a new master by itself.
public final class RedisClient: RedisCommands {
    /// The URL of Redis.
    public let url: RedisURL
    private let topology: any RedisTopology

    /// Creates a client that is not connected.
    /// - Parameters:
    ///   - eventLoops: each gets a connection to each master.
    ///   - observer: receives the events of every master.
    public init(
        _ configuration: RedisClientConfiguration, eventLoops: any EventLoopGroup, observer: any RedisObserver
    ) {
        url = configuration.url
        switch configuration.url.topology {
        case .standalone:
            let node = configuration.master(at: configuration.url.addresses[0])
            topology = RedisNode(node, eventLoops: eventLoops, observer: observer)
        case .sentinel(let master):
            topology = SentinelClient(master, configuration, eventLoops: eventLoops, observer: observer)
        case .cluster:
            topology = ClusterClient(configuration, eventLoops: eventLoops, observer: observer)
        }
    }

    /// Connects, and retries until it succeeds. Must be called once.
    public func start() { topology.start() }

    /// Ends all connections permanently and fails waiting commands with `.shutDown`; returns when they are closed.
    public func shutdown() async { await topology.shutdown() }

    /// The present state. A cluster is `.connected` if at least one master takes commands.
    public var health: RedisHealth { topology.health }

    /// The known masters and their states: one, unless Redis is a cluster.
    public var masters: [RedisAddress: RedisHealth] { topology.masters }

    /// Sends the commands, in one write for each node, and returns one result for each, in order.
    public func send(_ commands: [RedisCommand]) async -> [Result<RedisValue, RedisError>] {
        await topology.send(commands)
    }
}
