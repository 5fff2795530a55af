// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import Clients
@testable import HTTPServer

@Suite("The header of the PROXY protocol")
struct ProxyHeaderTests {
    static let ipv4: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 7, 0x30, 0x39, 0x01, 0xBB]
    private static let ipv6: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [9] + [UInt8](repeating: 1, count: 20)

    static func header(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
        ProxyHeader.signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 0xFF)] + rest
    }

    private func read(_ bytes: [UInt8]) throws -> (header: ProxyHeader?, rest: Int) {
        var buffer = ByteBuffer(bytes: bytes)
        return (try ProxyHeader.read(from: &buffer), buffer.readableBytes)
    }

    @Test func `a header names the client, and nothing behind it is read`() throws {
        let four = try read(Self.header(0x21, 0x11, Self.ipv4) + Array("GET".utf8))
        #expect(four.header == ProxyHeader(source: NetworkAddress("192.0.2.1")) && four.rest == 3)
        let six = try read(Self.header(0x21, 0x21, Self.ipv6))
        #expect(six.header == ProxyHeader(source: NetworkAddress("2001:db8::9")) && six.rest == 0)
    }

    @Test func `an IPv4 address within IPv6 counts as IPv4`() throws {
        let mapped: [UInt8] = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 192, 0, 2, 1]
        let header = try read(Self.header(0x21, 0x21, mapped + [UInt8](repeating: 0, count: 20))).header
        #expect(header?.source == NetworkAddress("192.0.2.1"))
    }

    @Test func `TLVs are passed over, and must end with the header`() throws {
        let whole = try read(Self.header(0x21, 0x11, Self.ipv4 + [0x04, 0, 1, 0, 0xEA, 0, 0]))
        #expect(whole.header?.source == NetworkAddress("192.0.2.1") && whole.rest == 0)
        for broken in [[0x04], [0x04, 0], [0x04, 0, 2, 0]] as [[UInt8]] {
            #expect(throws: ProxyHeader.Fault.malformedTLV) { try read(Self.header(0x21, 0x11, Self.ipv4 + broken)) }
        }
    }

    @Test func `a connection of the load balancer itself names no client, whatever else the header says`() throws {
        for header in [
            Self.header(0x20, 0, []), Self.header(0x20, 0x31, [1, 2, 3]), Self.header(0x21, 0, []),
        ] {
            let read = try read(header)
            #expect(read.header == ProxyHeader(source: nil) && read.rest == 0)
        }
    }

    @Test func `a header that is incomplete waits, at each byte`() throws {
        let header = Self.header(0x21, 0x11, Self.ipv4 + [4, 0, 1, 0])
        for count in 0..<header.count {
            let read = try read(Array(header.prefix(count)))
            #expect(read.header == nil && read.rest == count)
        }
    }

    @Test(
        arguments: [
            (header(0x11, 0x11, ipv4), .version), (header(0x31, 0x11, ipv4), .version),
            (header(0x22, 0x11, ipv4), .command),
            (header(0x21, 0x12, ipv4), .family), (header(0x21, 0x31, ipv4), .family),
            (header(0x21, 0x41, ipv4), .family),
            (header(0x21, 0x11, Array(ipv4.dropLast())), .tooShort), (header(0x21, 0x21, ipv4), .tooShort),
            (header(0x21, 0x11, [UInt8](repeating: 0, count: 4097)), .tooLong),
            (Array("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n".utf8), .signature),
            (Array("GET / HTTP/1.1\r\n".utf8), .signature),
            ([0x16, 0x03, 0x01], .signature),
        ] as [([UInt8], ProxyHeader.Fault)])
    func `anything else is rejected as soon as it is known`(bytes: [UInt8], fault: ProxyHeader.Fault) {
        #expect(throws: fault) { try read(bytes) }
    }
}
