// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The loopback addresses and host names.
package enum Loopback {
    /// Returns true if the network cannot reach a listener on this host. Names other than `localhost` count as
    /// reachable, because their resolution may change.
    package static func contains(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || isIPv4Loopback(host)
    }

    /// Returns true for a loopback address.
    package static func contains(_ address: NetworkAddress) -> Bool {
        switch address.family {
        case .ipv4: address.bits >> 24 == 127
        case .ipv6: address.bits == 1
        }
    }

    /// 127.0.0.0/8 (RFC 1122 §3.2.1.3).
    private static func isIPv4Loopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in
                // `UInt8` also accepts signs, which would make the text a host name.
                UInt8(part) != nil && part.allSatisfy { $0.isASCII && $0.isNumber }
            }
    }
}
