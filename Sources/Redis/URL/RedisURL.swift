// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Where Redis is and how it is laid out, in one line:
///
/// ```
/// redis://[user[:password]@]host[:port][/database]
/// redis+unix://[user[:password]@]/path/of/the.sock[?database=1]
/// redis+sentinel://[user[:password]@]host[:port],.../master[/database][?sentinel_user=..&sentinel_password=..]
/// redis+cluster://[user[:password]@]host[:port],...
/// ```
///
/// `rediss` in place of `redis` is the same over TLS. User, password, path and master name may hold `%40` and the like;
/// an IPv6 host stands in brackets. The user of a sentinel URL is Redis's; sentinels have one of their own or none.
public struct RedisURL: Hashable, Sendable {
    /// How the nodes belong together.
    public enum Topology: Hashable, Sendable {
        /// One Redis, or something that looks like one.
        case standalone
        /// The addresses are sentinels, who know where this master is.
        case sentinel(master: String)
        /// The addresses are some nodes of a cluster, who know the others.
        case cluster
    }

    /// Whom to be for Redis.
    public struct Credentials: Hashable, Sendable {
        /// Nil for the user `default`.
        public var user: String?
        /// Nil if it was not said.
        public var password: String?

        /// A user with a password.
        public init(user: String? = nil, password: String? = nil) { (self.user, self.password) = (user, password) }
    }

    /// How the nodes belong together.
    public let topology: Topology
    /// Whom to ask first: at least one, no two the same.
    public let addresses: [RedisAddress]
    /// Whether every connection, also to sentinels, is made over TLS.
    public let usesTLS: Bool
    /// For Redis itself.
    public let credentials: Credentials
    /// For the sentinels.
    public let sentinelCredentials: Credentials
    /// Which of the numbered databases; 0 in a cluster.
    public let database: Int

    /// What a URL may be.
    public enum Limits {
        /// The whole text.
        public static let maximumBytes = 4096
        /// Sentinels, or nodes to learn a cluster from.
        public static let maximumHosts = 16
        /// User and password, each, after decoding.
        public static let maximumCredentialBytes = 512
        /// The name of a sentinel's master, after decoding.
        public static let maximumMasterNameBytes = 128
        /// Redis has 16 unless told otherwise; what lies above this is a slip.
        public static let databases = 0...9999
    }

    /// Reads a URL.
    public init(_ text: String) throws(RedisURLError) {
        var parser = try RedisURLParser(text)
        (topology, addresses, database) = try parser.place()
        usesTLS = parser.scheme.usesTLS
        credentials = parser.credentials
        sentinelCredentials = parser.sentinelCredentials
    }
}

extension RedisURL: CustomStringConvertible, CustomReflectable {
    /// The URL without users, passwords and options.
    public var description: String {
        let scheme = usesTLS ? "rediss" : "redis"
        let places = addresses.map(\.description).joined(separator: ",")
        switch topology {
        case .standalone:
            if case .unixSocket = addresses.first { return "redis+unix://\(places)?database=\(database)" }
            return "\(scheme)://\(places)/\(database)"
        case .sentinel(let master): return "\(scheme)+sentinel://\(places)/\(master)/\(database)"
        case .cluster: return "\(scheme)+cluster://\(places)"
        }
    }

    /// Empty: a dump shows no password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension RedisURL.Credentials: CustomStringConvertible, CustomReflectable {
    /// Nothing of them.
    public var description: String { "credentials" }
    /// Empty: a dump shows no password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
