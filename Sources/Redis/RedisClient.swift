// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// Redis in any topology: one node, a master with sentinels, or a cluster.
///
/// Commands do not wait for Redis to return: one that no master can take fails at once. None takes longer than the
/// command deadline, redirections included. The client reconnects and finds a new master by itself.
public protocol RedisClient: RedisCommands {
    /// Connects, and retries until it succeeds. Must be called once.
    func start()
    /// Ends all connections permanently and fails waiting commands with `.shutDown`; returns when they are closed.
    func shutdown() async
    /// The present state. A cluster is `.connected` if at least one master takes commands.
    var health: RedisHealth { get }
    /// The known masters and their states: one, unless Redis is a cluster.
    var masters: [RedisAddress: RedisHealth] { get }
}

extension RedisNode: RedisClient {
    /// This node.
    public var masters: [RedisAddress: RedisHealth] { [configuration.address: health] }
}

extension RedisClientConfiguration {
    /// Creates a client that is not connected.
    /// - Parameters:
    ///   - eventLoops: each gets a connection to each master.
    ///   - observer: receives the events of every master.
    public func client(eventLoops: any EventLoopGroup, observer: any RedisObserver) -> any RedisClient {
        switch url.topology {
        case .standalone: RedisNode(node, eventLoops: eventLoops, observer: observer)
        case .sentinel(let master): SentinelClient(master, self, eventLoops: eventLoops, observer: observer)
        case .cluster: ClusterClient(self, eventLoops: eventLoops, observer: observer)
        }
    }
}
