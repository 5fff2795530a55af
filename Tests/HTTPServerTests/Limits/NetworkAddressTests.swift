// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Clients

struct NetworkAddressTests {
    @Test(
        arguments: [
            ("0.0.0.0", .ipv4, 0), ("192.0.2.1", .ipv4, 0xC000_0201), ("255.255.255.255", .ipv4, 0xFFFF_FFFF),
            ("::", .ipv6, 0), ("::1", .ipv6, 1), ("1::", .ipv6, 1 << 112),
            ("2001:db8::1", .ipv6, 0x2001_0DB8 << 96 | 1),
            ("1:2:3:4:5:6:7:8", .ipv6, 0x1_0002_0003_0004_0005_0006_0007_0008),
            ("1:2:3:4:5:6:7::", .ipv6, 0x1_0002_0003_0004_0005_0006_0007_0000),
            ("2001:DB8::1", .ipv6, 0x2001_0DB8 << 96 | 1),
            ("64:ff9b::192.0.2.1", .ipv6, 0x64_FF9B << 96 | 0xC000_0201), ("::ffff:192.0.2.1", .ipv4, 0xC000_0201),
            ("::ffff:c000:201", .ipv4, 0xC000_0201),
        ] as [(String, NetworkAddress.Family, UInt128)])
    func `an address is read`(text: String, family: NetworkAddress.Family, bits: UInt128) {
        let address = NetworkAddress(text)
        #expect(address?.family == family && address?.bits == bits)
    }

    @Test(arguments: [
        "", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.04", "+1.2.3.4", "1.2.3.-4", "1.2.3.4 ",
        " 1.2.3.4",
        "1.2.3.", "1..3.4", "0x7f.0.0.1", "2130706433", "localhost", "unknown", ":", ":::", "1:::2", "1::2::3",
        "12345::",
        "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", ":1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:",
        "+1::", "g::", "1.2.3.4::", "::1.2.3.4:1", "fe80::1%eth0", "[::1]", "::1/64", "١.٢.٣.٤",
        String(repeating: "0", count: 46), "::\u{0}1",
    ])
    func `malformed and ambiguous addresses are rejected`(text: String) {
        #expect(NetworkAddress(text) == nil)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true), ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
        ("::c000:201", "192.0.2.1", false), ("::ffff:192.0.2.1", "192.0.2.1", true), ("::1", "0.0.0.1", false),
        ("0:0:0:0:c000:201::", "192.0.2.1", false),
    ])
    func `a source is an IPv4 address or a 64 of IPv6`(one: String, other: String, isSame: Bool) throws {
        let first = try #require(NetworkAddress(one)), second = try #require(NetworkAddress(other))
        #expect((first.source == second.source) == isSame)
        #expect((first.source.description == second.source.description) == isSame)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.0.0.0/8", "::a00:1", false),
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("fd00::/8", "fdff::1", true),
        ("fd00::/8", "fc00::1", false), ("::1", "::1", true), ("10.0.0.0/8, 192.0.2.0/31", "192.0.2.1", true),
        ("", "192.0.2.1", false), ("128.0.0.0/1", "255.0.0.1", true), ("128.0.0.0/1", "127.0.0.1", false),
    ])
    func `a range contains the addresses with its prefix`(ranges: String, address: String, isInside: Bool) throws {
        let address = try #require(NetworkAddress(address))
        #expect(try AddressRanges(configuration: ranges).contains(address) == isInside)
    }

    @Test(arguments: [
        ("10.0.0.1/8", "\"10.0.0.1/8\" has bits set after its prefix"),
        ("0.0.0.0/0", "\"0.0.0.0/0\" needs a prefix length from 1 to 32"),
        ("::/129", "\"::/129\" needs a prefix length from 1 to 128"),
        ("10.0.0.0/", "\"10.0.0.0/\" needs a prefix length from 1 to 32"),
        ("10.0.0.0/8/8", "\"10.0.0.0/8/8\" needs a prefix length from 1 to 32"),
        ("proxy", "\"proxy\" is not an address or address range"),
    ])
    func `a malformed or too wide range is rejected`(text: String, fault: String) {
        #expect(throws: ConfigurationValueFault(description: fault)) { try AddressRanges(configuration: text) }
    }
}
