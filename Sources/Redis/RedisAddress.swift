// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The address of a node.
public typealias RedisAddress = RedisNodeConfiguration.Address

extension RedisAddress {
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
        if text.contains(":") { return isIPv6(String(text)) }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    private static func isIPv6(_ text: String) -> Bool {
        (try? SocketAddress(ipAddress: text, port: 0))?.protocol == .inet6
    }
}

extension RedisAddress: CustomStringConvertible {
    /// The form in URLs: `redis.internal:6379`, `[::1]:6379`, or the path.
    public var description: String {
        switch self {
        case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unixSocket(let path): path
        }
    }
}
