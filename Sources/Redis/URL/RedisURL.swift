// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The addresses and topology of Redis as a URL:
///
/// ```
/// redis://[user[:password]@]host[:port][/database]
/// redis+unix://[user[:password]@]/path/of/the.sock[?database=1]
/// redis+sentinel://[user[:password]@]host[:port],.../master[/database][?sentinel_user=..&sentinel_password=..]
/// redis+cluster://[user[:password]@]host[:port],...
/// ```
///
/// `rediss` instead of `redis` uses TLS. User, password, path and master name may have percent-encoding such as `%40`;
/// an IPv6 host needs brackets. The user of a sentinel URL is for Redis; sentinels have their own or none.
public struct RedisURL: Hashable, Sendable {
    /// The kind of installation.
    public enum Topology: Hashable, Sendable {
        /// One Redis, or a server that acts like one.
        case standalone
        /// The addresses are sentinels that know this master.
        case sentinel(master: String)
        /// The addresses are some nodes of a cluster, which know the others.
        case cluster
    }

    /// The login of Redis.
    public struct Credentials: Hashable, Sendable {
        /// The Redis ACL user name; nil for `default`.
        public var user: String?
        /// The password; nil if there is none.
        public var password: String?

        /// Creates credentials.
        public init(user: String? = nil, password: String? = nil) { (self.user, self.password) = (user, password) }
    }

    /// The kind of installation.
    public let topology: Topology
    /// The addresses to connect to first: at least one, all different.
    public let addresses: [RedisAddress]
    /// True if all connections use TLS, including those to sentinels.
    public let usesTLS: Bool
    /// The login for Redis itself.
    public let credentials: Credentials
    /// The login for the sentinels.
    public let sentinelCredentials: Credentials
    /// The number of the database; 0 in a cluster.
    public let database: Int

    /// The limits of a URL.
    public enum Limits {
        /// The bytes of the URL.
        public static let maximumBytes = 4096
        /// The sentinels, or the first nodes of a cluster.
        public static let maximumHosts = 16
        /// The bytes of user and password, each, after decoding.
        public static let maximumCredentialBytes = 512
        /// The bytes of a sentinel's master name, after decoding.
        public static let maximumMasterNameBytes = 128
        /// Redis has 16 by default; a larger number than this is a typing error.
        public static let databases = 0...9999
    }

    /// Parses a URL.
    public init(_ text: String) throws(RedisURLError) {
        var parser = try RedisURLParser(text)
        (topology, addresses, database) = try parser.target()
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
    /// No part of them.
    public var description: String { "credentials" }
    /// Empty: a dump shows no password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
