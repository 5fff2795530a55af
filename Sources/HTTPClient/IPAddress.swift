// SPDX-License-Identifier: Apache-2.0

/// An IPv4 or IPv6 address that can be checked for global reachability.
struct IPAddress {
    private let bytes: [UInt8]

    /// Creates an address of 4 or 16 bytes in network order; nil for any other number.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// False for loopback, private, link-local, documentation, multicast and all other special addresses (RFC 6890). An
    /// address that wraps an IPv4 address is judged by the IPv4 address.
    var isGloballyReachable: Bool {
        if bytes.count == 4 { return !Self.specialIPv4.contains { $0.contains(bytes) } }
        if let wrapped = wrappedIPv4 { return wrapped.isGloballyReachable }
        return Self.globalIPv6.contains(bytes) && !Self.specialIPv6.contains { $0.contains(bytes) }
    }

    /// IPv4-mapped (RFC 4291 §2.5.5.2) and IPv4-translated by NAT64 (RFC 6052 §2.1), with the IPv4 address at the end.
    private var wrappedIPv4: IPAddress? {
        let isWrapper = [Self.mapped, Self.translated].contains { $0.contains(bytes) }
        return isWrapper ? IPAddress(Array(bytes.suffix(4))) : nil
    }

    private static let mapped = Prefix(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, bits: 96)
    private static let translated = Prefix(0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0, bits: 96)

    /// The IANA IPv4 Special-Purpose Address Registry, multicast (RFC 5771) and the reserved rest.
    private static let specialIPv4 = [
        Prefix(0, bits: 8), Prefix(10, bits: 8), Prefix(100, 64, bits: 10), Prefix(127, bits: 8),
        Prefix(169, 254, bits: 16), Prefix(172, 16, bits: 12), Prefix(192, 0, 0, bits: 24),
        Prefix(192, 0, 2, bits: 24), Prefix(192, 88, 99, bits: 24), Prefix(192, 168, bits: 16),
        Prefix(198, 18, bits: 15), Prefix(198, 51, 100, bits: 24), Prefix(203, 0, 113, bits: 24),
        Prefix(224, bits: 3),
    ]

    /// The global unicast range allocated by IANA so far.
    private static let globalIPv6 = Prefix(0x20, bits: 3)

    /// Protocol assignments with Teredo, two documentation blocks, and 6to4, which wraps any IPv4 address.
    private static let specialIPv6 = [
        Prefix(0x20, 0x01, 0x00, bits: 23), Prefix(0x20, 0x01, 0x0D, 0xB8, bits: 32),
        Prefix(0x3F, 0xFF, 0x00, bits: 20), Prefix(0x20, 0x02, bits: 16),
    ]
}

private struct Prefix: Sendable {
    private let bytes: [UInt8]
    private let bits: Int

    init(_ bytes: UInt8..., bits: Int) {
        self.bytes = bytes
        self.bits = bits
    }

    func contains(_ address: [UInt8]) -> Bool {
        let (whole, rest) = bits.quotientAndRemainder(dividingBy: 8)
        guard address.prefix(whole).elementsEqual(bytes.prefix(whole)) else { return false }
        return rest == 0 || (address[whole] ^ bytes[whole]) >> (8 - rest) == 0
    }
}
