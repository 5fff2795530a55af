// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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
        guard text.utf8.count <= Self.maximumCharacters else { return nil }
        let text = Substring(text)
        guard text.utf8.contains(UInt8(ascii: ":")) else {
            guard let bits = Self.ipv4(text) else { return nil }
            family = .ipv4
            self.bits = UInt128(bits)
            return
        }
        guard let bits = Self.ipv6(text) else { return nil }
        let isMapped = bits >> 32 == 0xFFFF
        (family, self.bits) = isMapped ? (.ipv4, bits & 0xFFFF_FFFF) : (.ipv6, bits)
    }

    /// The longest text form: six groups and an IPv4 address.
    private static let maximumCharacters = 45

    private static func ipv4(_ text: Substring) -> UInt32? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bits: UInt32 = 0
        for part in parts {
            // `UInt8` accepts a sign; other parsers read a leading zero as octal.
            guard let byte = UInt8(part), part.first != "+", part == "0" || part.first != "0" else {
                return nil
            }
            bits = bits << 8 | UInt32(byte)
        }
        return bits
    }

    /// RFC 4291 §2.2: eight groups, of which `::` stands for one or more zeros.
    private static func ipv6(_ text: Substring) -> UInt128? {
        let halves = text.split(separator: "::", omittingEmptySubsequences: false)
        guard halves.count <= 2, let last = halves.last, let tail = groups(last, mayEndInIPv4: true) else { return nil }
        guard halves.count == 2 else { return tail.count == 8 ? number(tail) : nil }
        guard let head = groups(halves[0], mayEndInIPv4: false), head.count + tail.count < 8 else { return nil }
        return number(head) << UInt128(16 * (8 - head.count)) | number(tail)
    }

    private static func groups(_ text: Substring, mayEndInIPv4: Bool) -> [UInt16]? {
        guard !text.isEmpty else { return [] }
        var groups: [UInt16] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if let group = group(part) {
                groups.append(group)
            } else if mayEndInIPv4, index == parts.count - 1, let bits = ipv4(part) {
                groups += [UInt16(bits >> 16), UInt16(truncatingIfNeeded: bits)]
            } else {
                return nil
            }
        }
        return groups
    }

    private static func group(_ text: Substring) -> UInt16? {
        guard (1...4).contains(text.utf8.count), text.first != "+" else { return nil }
        return UInt16(text, radix: 16)
    }

    private static func number(_ groups: [UInt16]) -> UInt128 {
        groups.reduce(0) { $0 << 16 | UInt128($1) }
    }
}

extension NetworkAddress {
    /// The key for limits per address: an IPv4 address, or the /64 of an IPv6 subscriber (RFC 6177), which has 2^64
    /// addresses.
    var subscriber: String {
        switch family {
        case .ipv4: String(bits, radix: 16)
        case .ipv6: String(bits >> 64, radix: 16) + "/64"
        }
    }
}

/// A CIDR range such as `10.0.0.0/8`, or a single address.
struct AddressRange: Hashable, Sendable {
    /// The text as configured.
    let text: String
    private let first: NetworkAddress
    /// The number of host bits.
    private let freeBits: UInt128

    func contains(_ address: NetworkAddress) -> Bool {
        address.family == first.family && (address.bits ^ first.bits) >> freeBits == 0
    }
}

extension AddressRange {
    /// Parses `10.0.0.0/8`, `fd00::/8` or `192.0.2.1`.
    init(_ text: String) throws(ConfigurationValueFault) {
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
        self.text = text
    }
}

/// A set of address ranges, such as the trusted proxies.
package struct AddressRanges: Hashable, Sendable {
    private var ranges: [AddressRange] = []

    /// The empty set.
    init() {}

    package func contains(_ address: NetworkAddress) -> Bool {
        ranges.contains { $0.contains(address) }
    }
}

extension AddressRanges: ConfigurationValue {
    package static var accepted: String { "addresses and ranges separated by commas, such as 10.0.0.0/8,fd00::/8" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        for part in text.split(separator: ",") { ranges.append(try AddressRange(part.trimmingWhiteSpace())) }
    }

    package var configurationText: String { ranges.map(\.text).joined(separator: ",") }
}
