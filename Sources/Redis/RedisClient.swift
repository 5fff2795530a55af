// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import NIOCore

/// Redis in any topology: one node, a master with sentinels, or a cluster.
///
/// Commands do not wait for Redis to return: a command that no master can take fails at once. No command takes longer
/// than the command deadline, redirections included. The client reconnects and finds a new master by itself.
package protocol RedisClient: RedisCommands {
    /// Connects, and retries until it succeeds. Must be called once.
    func start()
    /// Ends all connections permanently and fails waiting commands with `.shutDown`; returns when they are closed.
    func shutdown() async
    /// The present state. A cluster is `.connected` if at least one master takes commands.
    var health: RedisHealth { get }
    /// The known masters and their states: one master, unless Redis is a cluster.
    var masters: [RedisAddress: RedisHealth] { get }
    /// The masters that together have all keys, for commands about no key, such as `SCAN`. Empty while a master is
    /// unknown.
    var masterNodes: [any RedisCommands] { get }
}

extension RedisNode: RedisClient {
    package var masters: [RedisAddress: RedisHealth] { [configuration.address: health] }
    package var masterNodes: [any RedisCommands] { [self] }
}

extension RedisClientConfiguration {
    package func client(eventLoops: any EventLoopGroup, observer: any RedisObserver) -> any RedisClient {
        switch url.topology {
        case .standalone: RedisNode(node, eventLoops: eventLoops, observer: observer)
        case .sentinel(let master): SentinelClient(master, self, eventLoops: eventLoops, observer: observer)
        case .cluster: ClusterClient(self, eventLoops: eventLoops, observer: observer)
        }
    }
}

package struct RedisClientConfiguration: Sendable, Redacted {
    package let url: RedisURL
    /// The settings of each master. Sentinels, and nodes that are only queried for the map, share the settings of
    /// connections.
    package var node: RedisNodeConfiguration

    /// - Parameter tls: the settings if the URL requires TLS; nil to trust the system's authorities. Unused otherwise.
    package init(_ url: RedisURL, tls: RedisTLS? = nil) throws(RedisTLS.Fault) {
        self.url = url
        node = RedisNodeConfiguration(address: url.addresses[0])
        (node.credentials, node.database) = (url.credentials, url.database)
        if url.usesTLS { node.tls = if let tls { tls } else { try RedisTLS() } }
    }

    func master(at address: RedisAddress) -> RedisNodeConfiguration {
        var master = node
        master.address = address
        return master
    }

    func seed(at address: RedisAddress) -> RedisNodeConfiguration {
        var seed = master(at: address)
        (seed.database, seed.scripts, seed.trackedPrefixes) = (0, [], [])
        return seed
    }

    /// Returns the configuration of a sentinel, which also announces a new master.
    func sentinel(at address: RedisAddress) -> RedisNodeConfiguration {
        var sentinel = seed(at: address)
        (sentinel.credentials, sentinel.channels) = (url.sentinelCredentials, ["+switch-master"])
        return sentinel
    }

    package var description: String { url.description }
}
