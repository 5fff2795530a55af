// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import Testing

@testable import Clients
@testable import HTTPServer
@testable import ServerTestSupport

struct RemoteAddressRuleTests {
    @Test(arguments: [
        // A peer that is not a trusted proxy cannot name another address.
        ("198.51.100.9", ["192.0.2.1"], "198.51.100.9"), ("198.51.100.9", ["10.0.0.1", "::1"], "198.51.100.9"),
        // A trusted proxy can.
        ("10.0.0.1", ["192.0.2.1"], "192.0.2.1"), ("10.0.0.1", [], "10.0.0.1"),
        // The client's own values are to the left of the proxy's.
        ("10.0.0.1", ["203.0.113.7, 192.0.2.1"], "192.0.2.1"), ("10.0.0.1", ["203.0.113.7", "192.0.2.1"], "192.0.2.1"),
        ("10.0.0.1", ["\"203.0.113.7, 192.0.2.1"], "192.0.2.1"), ("10.0.0.1", ["10.0.0.2,192.0.2.1"], "192.0.2.1"),
        // A proxy behind another proxy.
        ("10.0.0.1", ["203.0.113.7, 192.0.2.1, 10.0.0.2"], "192.0.2.1"),
        ("10.0.0.1", ["10.0.0.3,10.0.0.2"], "10.0.0.3"),
        ("fd00::1", ["2001:db8::5, ::ffff:10.0.0.2"], "2001:db8::5"),
        // An unreadable element counts for the last proxy.
        ("10.0.0.1", ["192.0.2.1, unknown"], "10.0.0.1"), ("10.0.0.1", ["192.0.2.1,"], "10.0.0.1"),
        ("10.0.0.1", ["192.0.2.1, junk, 10.0.0.2"], "10.0.0.2"), ("10.0.0.1", ["192.0.2.01"], "10.0.0.1"),
        // Ports and brackets.
        ("10.0.0.1", ["192.0.2.1:4711"], "192.0.2.1"), ("10.0.0.1", ["[2001:db8::5]:4711"], "2001:db8::5"),
        ("10.0.0.1", ["[2001:db8::5]"], "2001:db8::5"), ("10.0.0.1", ["192.0.2.1:"], "10.0.0.1"),
        ("10.0.0.1", ["192.0.2.1:x"], "10.0.0.1"), ("10.0.0.1", ["[192.0.2.1]"], "10.0.0.1"),
        ("10.0.0.1", ["[2001:db8::5]x"], "10.0.0.1"), ("10.0.0.1", ["[2001:db8::5"], "10.0.0.1"),
    ])
    func `a request counts for the first address from the right that is not a proxy`(
        peer: String, lines: [String], address: String
    ) throws {
        #expect(try Self.address(from: peer, lines, in: .xForwardedFor) == NetworkAddress(address))
    }

    @Test(arguments: [
        ("for=192.0.2.1", "192.0.2.1"), ("For=\"192.0.2.1:80\";proto=https", "192.0.2.1"),
        ("proto=http; for=\"[2001:db8::5]:4711\" ;by=10.0.0.1", "2001:db8::5"),
        ("for=203.0.113.7, for=192.0.2.1", "192.0.2.1"), ("for=\", for=192.0.2.1", "192.0.2.1"),
        ("for=192.0.2.1, for=10.0.0.2;proto=http", "192.0.2.1"),
        ("for=unknown", "10.0.0.1"), ("for=_hidden", "10.0.0.1"), ("192.0.2.1", "10.0.0.1"),
        ("by=192.0.2.1", "10.0.0.1"),
        // A host that the client chose, and the proxy copied.
        (#"host="a;for=203.0.113.7;b";for=192.0.2.1"#, "10.0.0.1"),
        (#"for=192.0.2.1;host="a, for=203.0.113.7;x""#, "10.0.0.1"),
        (#"for=192.0.2.1;host="a, for=203.0.113.7;x=\""#, "10.0.0.1"),
        (#"for=192.0.2.1;host="example.com:8080""#, "192.0.2.1"),
        ("for=", "10.0.0.1"), ("for=\"", "10.0.0.1"), (";;;", "10.0.0.1"), ("", "10.0.0.1"),
    ])
    func `the Forwarded field is read as well`(line: String, address: String) throws {
        #expect(try Self.address(from: "10.0.0.1", [line], in: .forwarded) == NetworkAddress(address))
    }

    @Test func `only the configured field is read`() throws {
        #expect(try Self.address(from: "10.0.0.1", ["192.0.2.1"], as: .forwarded) == NetworkAddress("10.0.0.1"))
    }

    @Test func `the number of hops is limited`() throws {
        let proxies = Array(repeating: "10.0.0.2", count: RemoteAddressRule.maximumHops - 1)
        let longest = ["192.0.2.1"] + proxies
        #expect(try Self.address(from: "10.0.0.1", longest, in: .xForwardedFor) == NetworkAddress("192.0.2.1"))
        let tooLong = longest + ["10.0.0.2"]
        #expect(try Self.address(from: "10.0.0.1", tooLong, in: .xForwardedFor) == NetworkAddress("10.0.0.2"))
    }

    private static func address(
        from peer: String, _ lines: [String], in field: ForwardingHeader = .xForwardedFor,
        as read: ForwardingHeader? = nil
    ) throws -> NetworkAddress? {
        let header = try RequestContext.forTests(HTTPHeaders(lines.map { (field.rawValue, $0) })).header
        let rule = RemoteAddressRule(
            trustedProxies: try AddressRanges(configuration: "10.0.0.0/8,fd00::/8"), header: read ?? field)
        return rule.address(from: NetworkAddress(peer), header)
    }
}
