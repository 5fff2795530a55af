// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The URL of Redis, and the settings of its nodes.
public struct RedisClientConfiguration: Sendable {
    /// The addresses and the topology.
    public let url: RedisURL
    /// The settings of each master. Sentinels, and nodes that are only asked for the map, share those of connections.
    public var node: RedisNodeConfiguration
    /// The login for sentinels.
    public var sentinelCredentials: RedisURL.Credentials

    /// Creates the configuration of a URL, with defaults for the rest.
    /// - Parameter tls: the settings if the URL requires TLS; nil to trust the system's authorities. Unused otherwise.
    public init(_ url: RedisURL, tls: RedisTLS? = nil) throws(RedisTLS.Fault) {
        self.url = url
        sentinelCredentials = url.sentinelCredentials
        node = RedisNodeConfiguration(address: url.addresses[0])
        (node.credentials, node.database) = (url.credentials, url.database)
        if url.usesTLS { node.tls = if let tls { tls } else { try RedisTLS() } }
    }

    /// Returns the configuration of a node that executes commands.
    func master(at address: RedisAddress) -> RedisNodeConfiguration {
        var master = node
        master.address = address
        return master
    }

    /// Returns the configuration of a cluster's node that is only asked for the map.
    func seed(at address: RedisAddress) -> RedisNodeConfiguration {
        var seed = master(at: address)
        (seed.database, seed.scripts, seed.trackedPrefixes) = (0, [], [])
        return seed
    }

    /// Returns the configuration of a sentinel, which also announces a new master.
    func sentinel(at address: RedisAddress) -> RedisNodeConfiguration {
        var sentinel = seed(at: address)
        (sentinel.credentials, sentinel.channels) = (sentinelCredentials, ["+switch-master"])
        return sentinel
    }
}

extension RedisClientConfiguration: CustomStringConvertible, CustomReflectable {
    /// The URL without credentials.
    public var description: String { url.description }
    /// Empty: passwords are in here.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
