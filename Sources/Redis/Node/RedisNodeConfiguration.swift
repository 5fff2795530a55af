// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Where a node is, how to log in to it, and how long and how much is waited for.
public struct RedisNodeConfiguration: Sendable {
    /// Where a node listens.
    public enum Address: Hashable, Sendable {
        /// A host name or an IP address, and a TCP port.
        case host(String, port: Int)
        /// The path of a Unix socket.
        case unixSocket(String)
    }

    /// Where it listens.
    public var address: Address
    /// How its identity is checked; nil for a connection in the clear.
    public var tls: RedisTLS?
    /// Who to log in as; nil for the default user.
    public var user: String?
    /// What to log in with; nil not to log in.
    public var password: String?
    /// The number of the database; 0 is not selected, so that it works in a cluster and with Sentinel.
    public var database = 0
    /// What `CLIENT LIST` shows; without spaces.
    public var clientName = "receipt-gateway"
    /// How long a command may take.
    public var commandDeadline: Duration = .milliseconds(50)
    /// How long one attempt to connect may take, from the name's look-up to the last answer of the login.
    public var connectDeadline: Duration = .milliseconds(250)
    /// Loaded on every connection before it takes commands.
    public var scripts: [RedisScript] = []
    /// Names that begin so are announced when they change; no prefix of another. Empty and without `channels`: there is
    /// no subscriber connection.
    public var trackedPrefixes: [String] = []
    /// Channels to listen to besides.
    public var channels: [String] = []
    /// How often the subscriber connection asks whether anybody is there; after three without an answer it ends.
    public var pingInterval: Duration = .seconds(1)
    /// When a connection is made again.
    public var reconnection = RedisReconnection()
    /// How much is kept in memory.
    public var limits = Limits()

    /// A node without TLS and without a login.
    public init(address: Address) {
        self.address = address
    }

    /// What one connection may hold.
    public struct Limits: Hashable, Sendable {
        /// Commands on their way; those that timed out count until their reply or the connection's end.
        public var maximumPipelined = 4096
        /// Bytes that the socket has not taken yet; commands beyond are refused.
        public var maximumUnsentBytes = 8 << 20
        /// Bytes of one reply.
        public var maximumReplyBytes = 8 << 20
        /// Elements of one reply, in all its arrays together.
        public var maximumReplyElements = 65536
        /// Arrays in arrays; hiredis reads 7.
        public var maximumReplyNesting = 7

        /// The defaults.
        public init() {}
    }
}

extension RedisNodeConfiguration: CustomStringConvertible, CustomReflectable {
    /// Where it listens, and nothing else.
    public var description: String { "\(address)" }
    /// Empty: the password is in here.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
