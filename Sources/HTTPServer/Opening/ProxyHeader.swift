// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import NIOCore

/// The header of the PROXY protocol, version 2, by which a TCP load balancer names the client of a connection:
/// ```
///   12 bytes  signature   0D 0A 0D 0A 00 0D 0A 51 55 49 54 0A
///    1 byte   version     4 bits: 2;  command, 4 bits: LOCAL 0, PROXY 1
///    1 byte   family      4 bits: UNSPEC 0, IPv4 1, IPv6 2;  transport, 4 bits: UNSPEC 0, STREAM 1
///    2 bytes  length      of what follows, big-endian
///             addresses   source and destination, source port and destination port
///             TLVs        type, 1 byte; length, 2 bytes; value
/// ```
/// Version 1, a line of text, is not accepted: a client could have sent it.
struct ProxyHeader: Hashable, Sendable {
    /// The client; nil for a connection of the load balancer itself, such as a health check.
    let source: NetworkAddress?

    enum Limits {
        /// The bytes after the length: far more than load balancers send.
        static let length = 4096
    }

    enum Fault: Error, Hashable, Sendable {
        case signature
        case version
        case command
        /// A datagram, a Unix socket, or an unknown family.
        case family
        case tooLong
        /// A length that is too small for the addresses.
        case tooShort
        /// TLVs that do not end with the header.
        case malformedTLV
    }

    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    private static let fixedBytes = 16

    /// Reads a header at the beginning of the bytes, and nothing of what follows.
    /// - Returns: nil if it is incomplete; then no byte is read.
    static func read(from bytes: inout ByteBuffer) throws(Fault) -> ProxyHeader? {
        let beginning = bytes.readableBytesView.prefix(fixedBytes)
        guard beginning.prefix(signature.count).elementsEqual(signature.prefix(beginning.count)) else {
            throw .signature
        }
        guard beginning.count == fixedBytes else { return nil }
        let start = bytes.readerIndex + signature.count
        guard let command = bytes.getInteger(at: start, as: UInt8.self),
            let family = bytes.getInteger(at: start + 1, as: UInt8.self),
            let length = bytes.getInteger(at: start + 2, as: UInt16.self)
        else { return nil }
        guard command >> 4 == 2 else { throw .version }
        guard command & 0xF <= 1 else { throw .command }
        let isLocal = command & 0xF == 0
        guard length <= Limits.length else { throw .tooLong }
        // A receiver ignores the family of LOCAL, and accepts whatever it is.
        let layout = try Layout(family: isLocal ? 0 : family)
        guard Int(length) >= layout.bytes else { throw .tooShort }
        guard bytes.readableBytes >= fixedBytes + Int(length) else { return nil }
        var copy = bytes
        copy.moveReaderIndex(forwardBy: fixedBytes)
        guard var rest = copy.readSlice(length: Int(length)) else { return nil }
        let source = layout.source(in: &rest)
        // What LOCAL has in the place of addresses is not read.
        if !isLocal { try check(tlvs: &rest) }
        bytes = copy
        return ProxyHeader(source: source)
    }

    private static func check(tlvs rest: inout ByteBuffer) throws(Fault) {
        while rest.readableBytes > 0 {
            guard rest.readInteger(as: UInt8.self) != nil, let length = rest.readInteger(as: UInt16.self),
                rest.readSlice(length: Int(length)) != nil
            else { throw .malformedTLV }
        }
    }

    /// The form of the addresses.
    private enum Layout {
        case none, ipv4, ipv6

        init(family: UInt8) throws(Fault) {
            switch family {
            case 0x00: self = .none
            case 0x11: self = .ipv4
            case 0x21: self = .ipv6
            default: throw .family
            }
        }

        var bytes: Int {
            switch self {
            case .none: 0
            case .ipv4: 2 * (4 + 2)
            case .ipv6: 2 * (16 + 2)
            }
        }

        /// Reads all addresses and ports.
        func source(in rest: inout ByteBuffer) -> NetworkAddress? {
            guard var addresses = rest.readSlice(length: bytes) else { return nil }
            switch self {
            case .none: return nil
            case .ipv4: return addresses.readInteger(as: UInt32.self).map { NetworkAddress(ipv4: $0) }
            case .ipv6:
                guard let high = addresses.readInteger(as: UInt64.self),
                    let low = addresses.readInteger(as: UInt64.self)
                else { return nil }
                return NetworkAddress(ipv6: UInt128(high) << 64 | UInt128(low))
            }
        }
    }
}
