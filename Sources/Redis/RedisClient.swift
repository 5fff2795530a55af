// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// Redis, however it is laid out: one node, a master that sentinels watch, or a cluster.
///
/// Nothing waits for Redis to come back: a command that no master can take now fails at once, and none takes longer
/// than the command deadline, redirections included. Connections are made again by themselves, and a new master is
/// found by itself.
public final class RedisClient: RedisCommands {
    /// Where Redis is.
    public let url: RedisURL
    private let topology: any RedisTopology

    /// A client that is not connected yet.
    /// - Parameters:
    ///   - eventLoops: each gets a connection to each master.
    ///   - observer: learns what happens at every master.
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

    /// Begins to connect, and does so for as long as it takes. To be called once.
    public func start() { topology.start() }

    /// Ends all connections and fails what waits with `.shutDown`; returns when they are closed. For good.
    public func shutdown() async { await topology.shutdown() }

    /// How it is now: of a cluster, `.connected` as long as one master takes commands.
    public var health: RedisHealth { topology.health }

    /// The masters that are known now, each with how it is: one, unless Redis is a cluster.
    public var masters: [RedisAddress: RedisHealth] { topology.masters }

    /// Sends the commands in one write where they go to the same node, and gives each its own outcome, in order.
    public func send(_ commands: [RedisCommand]) async -> [Result<RedisValue, RedisError>] {
        await topology.send(commands)
    }
}
