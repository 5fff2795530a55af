// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

package enum RedisAddress: Hashable, Sendable {
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
}

extension StringProtocol {
    /// True if it has only letters and digits of ASCII, `.`, `-` and `_`: any host name, and Sentinel's rule for names.
    var isPlainName: Bool { allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_".contains($0)) } }
}

extension RedisAddress: CustomStringConvertible {
    /// The form in URLs: `redis.internal:6379`, `[::1]:6379`, or the path.
    package var description: String {
        switch self {
        case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unixSocket(let path): path
        }
    }
}
