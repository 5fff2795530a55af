// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import NIOCore

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
package struct RedisURL: Hashable, Sendable, Redacted {
    package enum Topology: Hashable, Sendable {
        /// One Redis, or a server that acts like a single Redis.
        case standalone
        /// The addresses are sentinels that know this master.
        case sentinel(master: String)
        /// The addresses are some nodes of a cluster, which know the other nodes.
        case cluster
    }

    package struct Credentials: Hashable, Sendable, Redacted {
        /// The Redis ACL user name; nil for `default`.
        package var user: String?
        package var password: String?

        package var description: String { "credentials" }
    }

    package let topology: Topology
    /// The addresses to connect to first: at least one, all different.
    package let addresses: [RedisAddress]
    /// True if all connections use TLS, including connections to sentinels.
    package let usesTLS: Bool
    package let credentials: Credentials
    package let sentinelCredentials: Credentials
    package let database: Int

    enum Limits {
        static let maximumBytes = 4096
        static let maximumHosts = 16
        /// The bytes of user and password, each, after decoding.
        static let maximumCredentialBytes = 512
        static let maximumMasterNameBytes = 128
        /// Redis has 16 by default; a larger number than this is a typing error.
        static let databases = 0...9999
    }

    package init(_ text: String) throws(RedisURLError) {
        var parser = try RedisURLParser(text)
        (topology, addresses, database) = try parser.target()
        usesTLS = parser.scheme.usesTLS
        credentials = parser.credentials
        sentinelCredentials = parser.sentinelCredentials
    }

    package var description: String {
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
}

/// The reason why a text is not a URL of Redis, without any part of the text, which may hold a password.
package enum RedisURLError: String, Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    case tooLong = "the URL is too long"
    /// A space, a control character, or a character beyond ASCII.
    case invalidCharacter = "the URL has a character that must be written as %XX"
    case unknownScheme =
        "the URL must begin with redis://, redis+unix://, redis+sentinel:// or redis+cluster:// (rediss for TLS)"
    case fragment = "the URL has a fragment"
    /// `%` without two hexadecimal digits, or bytes that are not UTF-8.
    case invalidPercentEncoding = "a % in the URL must be followed by two hexadecimal digits, of UTF-8"
    case invalidUserInfo = "write an @ or a : in the user or password as %40 or %3A"
    case credentialsTooLong = "user or password is too long"
    case noHost = "the URL names no host"
    case tooManyHosts = "the URL names too many hosts"
    case severalHosts = "the URL has several hosts: use redis+sentinel:// for sentinels, redis+cluster:// for a cluster"
    case repeatedHost = "the URL names a host twice"
    case invalidHost = "a host in the URL is neither a name nor an address"
    case invalidPort = "a port in the URL is not a number from 1 to 65535"
    case invalidDatabase = "the database in the URL is not a number from 0 to 9999"
    case databaseInCluster = "a cluster only has database 0"
    case noMasterName = "the URL of sentinels must name the master, as in /mymaster"
    case invalidMasterName =
        "the master's name is too long or has characters other than letters, digits, '.', '-' and '_'"
    case unexpectedPath = "the URL's path has too many parts"
    case hostOfSocket = "the URL of a Unix socket must have three slashes after the scheme"
    case invalidSocketPath = "the path of the Unix socket is missing or too long"
    case unknownOption = "the URL has an unknown option"
    case repeatedOption = "the URL has an option twice"

    package var description: String { rawValue }
}

package enum RedisAddress: Hashable, Sendable, CustomStringConvertible {
    /// A host name or an IP address, and a TCP port.
    case host(String, port: Int)
    case unixSocket(String)

    enum Limits {
        /// RFC 1035 §2.3.4, without the final dot.
        static let maximumHostBytes = 253
        /// Port 0 cannot be connected to.
        static let ports = 1...65535
        /// `sun_path` of unix(7) is 108 bytes, the last of them zero.
        static let maximumPathBytes = 107
    }

    /// Creates the address of a host from a URL, a sentinel or a cluster; nil if it is invalid.
    static func checked(host: some StringProtocol, port: Int?) -> RedisAddress? {
        guard let port, Limits.ports.contains(port), isHost(host) else { return nil }
        return .host(host.lowercased(), port: port)
    }

    private static func isHost(_ text: some StringProtocol) -> Bool {
        guard !text.isEmpty, text.utf8.count <= Limits.maximumHostBytes else { return false }
        guard text.contains(":") else { return text.isPlainName }
        return (try? SocketAddress(ipAddress: String(text), port: 0))?.protocol == .inet6
    }

    /// The form in URLs: `redis.internal:6379`, `[::1]:6379`, or the path.
    package var description: String {
        switch self {
        case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unixSocket(let path): path
        }
    }
}

extension StringProtocol {
    /// True if it has only letters and digits of ASCII, `.`, `-` and `_`: any host name, and Sentinel's rule for names.
    var isPlainName: Bool { allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_".contains($0)) } }
}
