// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import Clients
@testable import HTTPServer

/// The parser as a value. `RawRequestTests` has the tables of what it accepts.
struct RequestParserTests {
    private static let request =
        "POST /v1/verify?x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.0\r\n\r\n"

    @Test func `the parts do not depend on how the bytes arrive`() throws {
        let whole = try Self.read([Self.request])
        #expect(
            whole == [
                "POST /v1/verify x http1_1 [Host=a, Transfer-Encoding=chunked]", "abc", "de", "end",
                "GET / - http1_0 []", "end",
            ])
        #expect(try Self.joined(Self.read(Self.request.map { String($0) })) == Self.joined(whole))
        for cut in 1..<Self.request.utf8.count {
            let pieces = [String(Self.request.utf8.prefix(cut)) ?? "", String(Self.request.utf8.dropFirst(cut)) ?? ""]
            #expect(try Self.joined(Self.read(pieces)) == Self.joined(whole), "\(cut)")
        }
    }

    @Test(arguments: RawRequest.tables)
    func `headers, bodies and refusals do not depend on how the bytes arrive`(table: RawRequest.Table) {
        for request in table.requests {
            let bytes = ByteBuffer(string: request.text)
            let whole = Self.outcome(of: bytes, inPiecesOf: max(1, bytes.readableBytes))
            for size in [1, 2, 7, 61] { #expect(Self.outcome(of: bytes, inPiecesOf: size) == whole, "\(request)") }
        }
    }

    @Test func `the sets of characters are the sets of the grammar`() {
        let sets: [(CharacterSet128, String)] = [
            (.token, "!#$%&'*+-.^_`|~"), (.target, "-._~:/?@!$&'()*+,;=[]"), (.hostName, "-._~!$&'()*+;="),
        ]
        for (set, others) in sets {
            for byte in UInt8.min ... .max {
                #expect(set.contains(byte) == (byte.isDigit || byte.isLetter || others.utf8.contains(byte)), "\(byte)")
            }
        }
    }

    @Test func `only an incomplete header or line stays in the buffer`() throws {
        var parser = RequestParser(HTTPLimits())
        var buffer = ByteBuffer(string: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
        while try parser.next(in: &buffer) != nil {}
        #expect(buffer.readableBytes == 0 && parser.isWithinRequest(before: buffer))
        buffer.writeString("defghiGET /")
        while try parser.next(in: &buffer) != nil {}
        #expect(String(buffer: buffer) == "GET /" && parser.isWithinRequest(before: buffer))
    }

    @Test(arguments: [
        ("HEAD ", true), ("HEAD / HTTP/1.1\r\nHo", true), ("HEA", false), ("GET / HTTP/1.1\r\nHo", false),
        ("HEADS / HTTP", false), ("head / HTTP", false), ("\r\nHEAD /", true),
        ("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET /", false),
    ])
    func `HEAD is known as soon as it has arrived`(text: String, isHead: Bool) throws {
        for pieces in [[text], text.map { String($0) }] {
            var parser = RequestParser(HTTPLimits())
            var buffer = ByteBuffer()
            for piece in pieces {
                buffer.writeString(piece)
                while try parser.next(in: &buffer) != nil {}
            }
            #expect(parser.isHead == isHead)
        }
    }

    @Test(
        arguments: [
            (HTTPLimits(target: .bytes(3)), "GET /ab HTTP/1.0\r\n\r\n", nil),
            (HTTPLimits(target: .bytes(3)), "GET /abc HTTP/1.0\r\n\r\n", .targetTooLong),
            (HTTPLimits(target: .bytes(3)), "GET /" + String(repeating: "a", count: 100), .targetTooLong),
            (HTTPLimits(headerField: .bytes(4)), "GET / HTTP/1.0\r\nabc: \t d \t\r\n\r\n", nil),
            (HTTPLimits(headerField: .bytes(4)), "GET / HTTP/1.0\r\nabc: de\r\n\r\n", .headerTooLarge),
            (
                HTTPLimits(headerField: .bytes(4)), "GET / HTTP/1.0\r\n" + String(repeating: "a", count: 100),
                .headerTooLarge
            ),
            (HTTPLimits(headerList: .bytes(4)), "GET / HTTP/1.0\r\na: b\r\nc: d\r\n\r\n", nil),
            (HTTPLimits(headerList: .bytes(4)), "GET / HTTP/1.0\r\na: b\r\nc: de\r\n\r\n", .headerTooLarge),
            (HTTPLimits(), "GET / HTTP/1.0\r\na:" + String(repeating: " ", count: 63) + "b \r\n\r\n", nil),
            (HTTPLimits(), "GET / HTTP/1.0\r\na:" + String(repeating: " ", count: 64) + "b \r\n\r\n", .headerTooLarge),
            (HTTPLimits(headerFieldCount: 1), "GET / HTTP/1.0\r\na: b\r\n\r\n", nil),
            (HTTPLimits(headerFieldCount: 1), "GET / HTTP/1.0\r\na: b\r\nc: d\r\n\r\n", .headerTooLarge),
            (
                HTTPLimits(headerFieldCount: 2),
                "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na: b\r\n\r\n", .headerTooLarge
            ),
            (
                HTTPLimits(body: .bytes(16)), "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n",
                .bodyTooLarge
            ),
        ] as [(HTTPLimits, String, EdgeRefusal?)])
    func `each limit is exact to the byte`(limits: HTTPLimits, text: String, refusal: EdgeRefusal?) throws {
        let outcome = Result { try Self.read([text], limits) }
        switch outcome {
        case .success: #expect(refusal == nil)
        case .failure(let error): #expect(error as? EdgeRefusal == refusal)
        }
    }

    // MARK: - Steps

    private static func read(_ pieces: [String], _ limits: HTTPLimits = .init()) throws -> [String] {
        var parser = RequestParser(limits)
        var buffer = ByteBuffer()
        var parts: [String] = []
        for piece in pieces {
            buffer.writeString(piece)
            while let part = try parser.next(in: &buffer) { parts.append(text(part)) }
        }
        return parts
    }

    /// Returns the parts, and the refusal that follows them, if any.
    private static func outcome(of bytes: ByteBuffer, inPiecesOf size: Int) -> String {
        var (parser, rest, buffer, parts) = (RequestParser(HTTPLimits()), bytes, ByteBuffer(), "")
        do {
            while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
                buffer.writeImmutableBuffer(piece)
                while let part = try parser.next(in: &buffer) { parts += text(part) }
            }
            return parts + "\(parser.isHead) \(parser.isWithinRequest(before: buffer))"
        } catch {
            return parts + "\(parser.isHead) \(error)"
        }
    }

    private static func text(_ part: RequestPart) -> String {
        switch part {
        case .head(let header):
            "\(header.method) \(String(copying: header.path)) \(header.query ?? "-") \(header.version) "
                + "[\(texts(of: header).joined(separator: ", "))]"
        case .body(let bytes): String(buffer: bytes)
        case .end: "end"
        }
    }

    private static func texts(of header: RequestHeader) -> [String] {
        header.lines.map { "\(header.name(of: $0))=\(header.value(of: $0))" }
    }

    private static func joined(_ parts: [String]) -> String { parts.joined() }
}

extension UInt8 {
    fileprivate var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}
