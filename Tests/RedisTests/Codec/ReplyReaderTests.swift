// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOTestUtils
import Testing

@testable import Redis

struct ReplyReaderTests {
    /// The bytes, and the replies in them.
    static let replies: [(text: String, value: RedisValue)] = [
        ("+OK\r\n", .status("OK")), ("+\r\n", .status("")), ("+O\rK\r\n", .status("O\rK")),
        (":1000\r\n", .integer(1000)), (":-9223372036854775808\r\n", .integer(-1 << 48)),
        (":9223372036854775807\r\n", .integer(1 << 48)), ("-ERR \u{301}\r\n", .error(RedisRefusal(line: "ERR ??"))),
        ("$5\r\nhe\r\no\r\n", .text("he\r\no")), ("$0\r\n\r\n", .text("")),
        ("$-1\r\n", .null), ("*-1\r\n", .null), ("*0\r\n", .array([])),
        ("-ERR no\r\n", .error(RedisRefusal(line: "ERR no"))),
        (
            "*3\r\n:1\r\n*2\r\n$1\r\na\r\n*0\r\n-NOPERM x\r\n",
            .array([.integer(1), .array([.text("a"), .array([])]), .error(RedisRefusal(line: "NOPERM x"))])
        ),
        ("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:7\r\n", nested(7)),
        ("*2\r\n$-1\r\n*-1\r\n", .array([.null, .null])),
    ]

    private static func nested(_ depth: Int) -> RedisValue {
        depth == 0 ? .integer(7) : .array([nested(depth - 1)])
    }

    @Test func `replies are read whole, merged and byte by byte`() throws {
        let pairs = Self.replies.map { ($0.text.buffer, [$0.value]) }
        try ByteToMessageDecoderVerifier.verifyDecoder(inputOutputPairs: pairs) {
            ReplyDecoder(reader: try? ReplyReader(limits: .init()))
        }
    }

    @Test func `a string of any bytes is read as sent`() throws {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let reader = try ReplyReader(limits: .init())
        var buffer = ByteBuffer(string: "$100000\r\n")
        buffer.writeBytes(bytes + [13, 10])
        var replies: [RedisValue] = []
        while let piece = buffer.readSlice(length: min(1460, buffer.readableBytes)), piece.readableBytes > 0 {
            try reader.feed(piece.readableBytesView)
            while let reply = try reader.next() { replies.append(reply) }
        }
        #expect(replies == [.string(bytes)])
    }

    /// Replies of no real Redis, or beyond the limits: 100 bytes, 10 elements, 3 levels.
    static let hostile: [(text: String, fault: ReplyFault)] = [
        ("*100000000\r\n", .tooManyElements), ("*2147483647\r\n", .tooManyElements), ("*11\r\n", .tooManyElements),
        ("*6\r\n*5\r\n", .tooManyElements), ("*9999999999\r\n", .malformed),
        ("*99999999999999999999999999\r\n", .malformed), ("*-2\r\n", .malformed), ("*x\r\n", .malformed),
        ("$101\r\n", .tooManyBytes), ("$9223372036854775807\r\n", .tooManyBytes),
        ("$9223372036854775806\r\n", .tooManyBytes), ("$1000000000\r\nabc", .tooManyBytes),
        ("$99999999999999999999999999\r\n", .malformed), ("$-2\r\n", .malformed), ("$\r\n", .malformed),
        ("*2\r\n$60\r\n" + String(repeating: "x", count: 60) + "\r\n$41\r\n", .tooManyBytes),
        ("+" + String(repeating: "x", count: 101) + "\r\n", .tooManyBytes),
        ("*1\r\n*1\r\n*1\r\n*1\r\n", .nestedTooDeep),
        (":12a\r\n", .malformed), (":\r\n", .malformed), ("?\r\n", .malformed), ("\r\n", .malformed),
        ("HTTP/1.1 400 Bad Request\r\n", .malformed),
        // RESP3 is never requested.
        ("%1\r\n+a\r\n+b\r\n", .malformed), ("_\r\n", .malformed), ("#t\r\n", .malformed), (",1.5\r\n", .malformed),
        (">2\r\n+a\r\n+b\r\n", .malformed), ("~1\r\n+a\r\n", .malformed),
        (String(repeating: "+", count: ReplyReader.maximumLineBytes + 2), .lineTooLong),
    ]

    @Test(arguments: hostile)
    func `a hostile reply is rejected as early as possible, in pieces of any size`(
        _ text: String, _ fault: ReplyFault
    ) throws {
        var limits = RedisNodeConfiguration.Limits()
        (limits.maximumReplyBytes, limits.maximumReplyElements, limits.maximumReplyNesting) = (100, 10, 3)
        for pieceBytes in [text.utf8.count, 1] where text.utf8.count < 1000 || pieceBytes > 1 {
            let reader = try ReplyReader(limits: limits)
            #expect(throws: fault) {
                var buffer = text.buffer
                while let piece = buffer.readSlice(length: pieceBytes) {
                    try reader.feed(piece.readableBytesView)
                    while try reader.next() != nil {}
                }
            }
        }
    }

    @Test func `a reply at the limits is accepted, and the next one has the same limits`() throws {
        var limits = RedisNodeConfiguration.Limits()
        (limits.maximumReplyBytes, limits.maximumReplyElements, limits.maximumReplyNesting) = (100, 10, 3)
        let reader = try ReplyReader(limits: limits)
        let largest =
            "*2\r\n$60\r\n\(String(repeating: "x", count: 60))\r\n$40\r\n\(String(repeating: "x", count: 40))\r\n"
        let longest = "*10\r\n" + String(repeating: ":1\r\n", count: 10)
        let deepest = "*1\r\n*1\r\n*1\r\n:1\r\n"
        for text in [largest, longest, deepest, largest] {
            try reader.feed(text.buffer.readableBytesView)
            #expect(try reader.next() != nil)
        }
    }

    @Test func `announced elements are not allocated`() throws {
        var limits = RedisNodeConfiguration.Limits()
        limits.maximumReplyElements = .max
        let reader = try ReplyReader(limits: limits)
        // Two billion elements, which would take 64 GB.
        try reader.feed("*2147483647\r\n:1\r\n".buffer.readableBytesView)
        #expect(try reader.next() == nil)
    }

    @Test func `after a fault nothing more is read`() throws {
        let reader = try ReplyReader(limits: .init())
        try reader.feed("?\r\n".buffer.readableBytesView)
        #expect(throws: ReplyFault.malformed) { try reader.next() }
        #expect(throws: ReplyFault.self) {
            try reader.feed("+OK\r\n".buffer.readableBytesView)
            _ = try reader.next()
        }
    }
}

/// The reader in the form that the verifier requires.
private struct ReplyDecoder: ByteToMessageDecoder {
    typealias InboundOut = RedisValue
    let reader: ReplyReader?

    func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        try reader?.feed(buffer.readableBytesView)
        buffer.moveReaderIndex(to: buffer.writerIndex)
        while let reply = try reader?.next() { context.fireChannelRead(Self.wrapInboundOut(reply)) }
        return .needMoreData
    }

    func decodeLast(context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool) throws -> DecodingState {
        try decode(context: context, buffer: &buffer)
    }
}

extension String {
    fileprivate var buffer: ByteBuffer { ByteBuffer(string: self) }
}
