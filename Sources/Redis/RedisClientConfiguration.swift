// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The URL, login, deadlines and limits of Redis.
public struct RedisClientConfiguration: Sendable {
    /// The addresses and the topology.
    public let url: RedisURL
    /// The TLS settings of all nodes, sentinels included; nil for connections without TLS.
    public let tls: RedisTLS?
    /// The login: the URL's, unless set otherwise.
    public var credentials: RedisURL.Credentials
    /// The login for sentinels.
    public var sentinelCredentials: RedisURL.Credentials
    /// The name in `CLIENT LIST`, without spaces.
    public var clientName = "receipt-gateway"
    /// The time limit of a command, redirections included.
    public var commandDeadline: Duration = .milliseconds(50)
    /// The time limit of one attempt to connect.
    public var connectDeadline: Duration = .milliseconds(250)
    /// The scripts that every connection to a master loads before it takes commands.
    public var scripts: [RedisScript] = []
    /// The key prefixes whose changes every master announces.
    public var trackedPrefixes: [String] = []
    /// The delays before a connection is made again.
    public var reconnection = RedisReconnection()
    /// The limits of one connection.
    public var limits = RedisNodeConfiguration.Limits()

    /// Creates the configuration of a URL, with defaults for the rest.
    /// - Parameter tls: the settings if the URL requires TLS; nil to trust the system's authorities. Unused otherwise.
    public init(_ url: RedisURL, tls: RedisTLS? = nil) throws(RedisTLS.Fault) {
        self.url = url
        if url.usesTLS, let tls { self.tls = tls } else { self.tls = url.usesTLS ? try RedisTLS() : nil }
        credentials = url.credentials
        sentinelCredentials = url.sentinelCredentials
    }
}

extension RedisClientConfiguration {
    /// Returns the configuration of a node that executes commands.
    func master(at address: RedisAddress) -> RedisNodeConfiguration {
        var node = seed(at: address)
        node.database = url.database
        (node.scripts, node.trackedPrefixes) = (scripts, trackedPrefixes)
        return node
    }

    /// Returns the configuration of a cluster's node that is only asked for the map.
    func seed(at address: RedisAddress) -> RedisNodeConfiguration {
        var node = RedisNodeConfiguration(address: address)
        (node.tls, node.user, node.password) = (tls, credentials.user, credentials.password)
        (node.clientName, node.reconnection, node.limits) = (clientName, reconnection, limits)
        (node.commandDeadline, node.connectDeadline) = (commandDeadline, connectDeadline)
        return node
    }

    /// Returns the configuration of a sentinel, which also announces a new master.
    func sentinel(at address: RedisAddress) -> RedisNodeConfiguration {
        var node = seed(at: address)
        (node.user, node.password) = (sentinelCredentials.user, sentinelCredentials.password)
        node.channels = ["+switch-master"]
        return node
    }
}

extension RedisClientConfiguration: CustomStringConvertible, CustomReflectable {
    /// The URL without credentials.
    public var description: String { url.description }
    /// Empty: passwords are in here.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
