// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Where Redis is, how to log in to it, and how long and how much is waited for.
public struct RedisClientConfiguration: Sendable {
    /// Where it is, and how it is laid out.
    public let url: RedisURL
    /// How the identity of every node is checked, sentinels included; nil for connections in the clear.
    public let tls: RedisTLS?
    /// Who to log in as: what the URL says, unless something else is set.
    public var credentials: RedisURL.Credentials
    /// The same, for sentinels.
    public var sentinelCredentials: RedisURL.Credentials
    /// What `CLIENT LIST` shows; without spaces.
    public var clientName = "receipt-gateway"
    /// How long a command may take, redirections included.
    public var commandDeadline: Duration = .milliseconds(50)
    /// How long one attempt to connect may take.
    public var connectDeadline: Duration = .milliseconds(250)
    /// Loaded at every master before it takes commands.
    public var scripts: [RedisScript] = []
    /// Names that begin so are announced when they change, by every master.
    public var trackedPrefixes: [String] = []
    /// When a connection is made again.
    public var reconnection = RedisReconnection()
    /// How much one connection keeps in memory.
    public var limits = RedisNodeConfiguration.Limits()

    /// What a URL says, with defaults for the rest.
    /// - Parameter tls: for a URL that asks for TLS; nil to trust the system's authorities. Not used otherwise.
    public init(_ url: RedisURL, tls: RedisTLS? = nil) throws(RedisTLS.Fault) {
        self.url = url
        if url.usesTLS, let tls { self.tls = tls } else { self.tls = url.usesTLS ? try RedisTLS() : nil }
        credentials = url.credentials
        sentinelCredentials = url.sentinelCredentials
    }
}

extension RedisClientConfiguration {
    /// A node that carries out commands.
    func master(at address: RedisAddress) -> RedisNodeConfiguration {
        var node = seed(at: address)
        node.database = url.database
        (node.scripts, node.trackedPrefixes) = (scripts, trackedPrefixes)
        return node
    }

    /// A node of a cluster that is only asked where others are.
    func seed(at address: RedisAddress) -> RedisNodeConfiguration {
        var node = RedisNodeConfiguration(address: address)
        (node.tls, node.user, node.password) = (tls, credentials.user, credentials.password)
        (node.clientName, node.reconnection, node.limits) = (clientName, reconnection, limits)
        (node.commandDeadline, node.connectDeadline) = (commandDeadline, connectDeadline)
        return node
    }

    /// A sentinel, who also says by itself when there is another master.
    func sentinel(at address: RedisAddress) -> RedisNodeConfiguration {
        var node = seed(at: address)
        (node.user, node.password) = (sentinelCredentials.user, sentinelCredentials.password)
        node.channels = ["+switch-master"]
        return node
    }
}

extension RedisClientConfiguration: CustomStringConvertible, CustomReflectable {
    /// Where Redis is, and nothing else.
    public var description: String { url.description }
    /// Empty: passwords are in here.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
