// SPDX-License-Identifier: Apache-2.0

/// An IPv4 or IPv6 address. Ambiguous forms such as `010.0.0.1` are rejected.
package struct NetworkAddress: Hashable, Sendable {
    /// The address family. The raw value is the number of bits.
    package enum Family: Int, Sendable {
        case ipv4 = 32
        case ipv6 = 128
    }

    /// The family. An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) counts as the IPv4 address.
    package let family: Family
    /// The address as a number; an IPv4 address fills the lowest 32 bits.
    package let bits: UInt128

    /// Parses `192.0.2.1` or `2001:db8::1`; nil for anything else, including zones and brackets.
    package init?(_ text: some StringProtocol) {
        // The C library reads up to the first zero byte.
        guard text.utf8.count <= Self.maximumCharacters, !text.utf8.contains(0) else { return nil }
        let isIPv6 = text.utf8.contains(UInt8(ascii: ":"))
        guard let bytes = CLibrary.addressBytes(String(text), isIPv6: isIPv6) else { return nil }
        let bits = bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        if isIPv6 { self.init(ipv6: bits) } else { self.init(ipv4: UInt32(truncatingIfNeeded: bits)) }
    }

    package init(ipv4 bits: UInt32) { (family, self.bits) = (.ipv4, UInt128(bits)) }

    package init(ipv6 bits: UInt128) {
        let isMapped = bits >> 32 == 0xFFFF
        (family, self.bits) = isMapped ? (.ipv4, bits & 0xFFFF_FFFF) : (.ipv6, bits)
    }

    /// The longest text form: six groups and an IPv4 address.
    private static let maximumCharacters = 45

    package var source: SourceAddress { SourceAddress(self) }
}

/// One source of requests, for limits: an IPv4 address, or the /64 that an IPv6 subscriber has (RFC 6177).
package struct SourceAddress: Hashable, Sendable, CustomStringConvertible {
    private let family: NetworkAddress.Family
    private let prefix: UInt64

    fileprivate init(_ address: NetworkAddress) {
        family = address.family
        prefix = UInt64(truncatingIfNeeded: address.family == .ipv4 ? address.bits : address.bits >> 64)
    }

    /// The name of its token buckets.
    package var description: String { String(prefix, radix: 16) + (family == .ipv4 ? "" : "/64") }
}

/// A CIDR range such as `10.0.0.0/8`, or a single address.
package struct AddressRange: Hashable, Sendable, ConfigurationValue {
    package let configurationText: String
    private let first: NetworkAddress
    /// The number of host bits.
    private let freeBits: UInt128

    func contains(_ address: NetworkAddress) -> Bool {
        address.family == first.family && (address.bits ^ first.bits) >> freeBits == 0
    }

    package static var accepted: String { "addresses and ranges separated by commas, such as 10.0.0.0/8,fd00::/8" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = NetworkAddress(parts[0]) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not an address or address range")
        }
        let longest = first.family.rawValue
        guard let length = parts.count == 1 ? longest : Int(parts[1]), (1...longest).contains(length) else {
            throw ConfigurationValueFault(description: "\"\(text)\" needs a prefix length from 1 to \(longest)")
        }
        self.first = first
        freeBits = UInt128(longest - length)
        guard (first.bits >> freeBits) << freeBits == first.bits else {
            throw ConfigurationValueFault(description: "\"\(text)\" has bits set after its prefix")
        }
        configurationText = text
    }
}

package typealias AddressRanges = [AddressRange]

extension AddressRanges {
    package func contains(_ address: NetworkAddress) -> Bool { contains { $0.contains(address) } }
}

package enum Loopback {
    /// Returns true if the network cannot reach a listener on this host. Names other than `localhost` count as
    /// reachable, because their resolution may change.
    package static func contains(_ host: String) -> Bool {
        host == "localhost" || NetworkAddress(host).map { contains($0) } ?? false
    }

    package static func contains(_ address: NetworkAddress) -> Bool {
        switch address.family {
        // RFC 1122 §3.2.1.3.
        case .ipv4: address.bits >> 24 == 127
        case .ipv6: address.bits == 1
        }
    }
}
