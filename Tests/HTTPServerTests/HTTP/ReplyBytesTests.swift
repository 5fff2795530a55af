// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import Receipts
import Testing

@testable import HTTPServer

@Suite("The bytes of replies")
struct ReplyBytesTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
    private static let added =
        "Cache-Status: receipt-gateway; hit\r\nRateLimit: r\r\nDate: Thu, 01 Jan 1970 00:00:01 GMT\r\n"

    @Test(arguments: [false, true])
    func `a reply that is repeated has the bytes of the first`(isRepeated: Bool) {
        for isLast in [false, true] {
            for isHead in [false, true] {
                let end = isLast ? "Connection: close\r\n\r\n" : "\r\n"
                let expected = Self.head + Self.added + "X-Request-Id: mine\r\n" + end + (isHead ? "" : "{}")
                let bytes = Self.reply(isRepeated: isRepeated).bytes(to: .sent("mine"), isLast: isLast, isHead: isHead)
                #expect(String(buffer: bytes) == expected)
            }
        }
    }

    @Test func `an answer to HTTP 1_0 says whether the connection stays open`() {
        for (isLast, value) in [(true, "close"), (false, "keep-alive")] {
            let bytes = Self.reply(isRepeated: false).bytes(
                to: .sent("mine"), in: .http1_0, isLast: isLast, isHead: true)
            #expect(String(buffer: bytes).hasSuffix("\r\nConnection: \(value)\r\n\r\n"))
        }
    }

    @Test(
        arguments: [
            (200, "OK"), (400, "Bad Request"), (401, "Unauthorized"), (404, "Not Found"), (413, "Content Too Large"),
            (429, "Too Many Requests"), (500, "Internal Server Error"), (503, "Service Unavailable"),
            // RFC 9110 §15: an unknown status counts as the first of its class.
            (299, "OK"), (444, "Bad Request"), (599, "Internal Server Error"),
        ] as [(Int, String)])
    func `a status that has only its number gets a reason phrase`(code: Int, phrase: String) {
        let reply = Reply(status: HTTPResponse.Status(code: code), body: [])
        let text = String(buffer: reply.bytes(to: .sent("mine"), isLast: false, isHead: false))
        #expect(text.hasPrefix("HTTP/1.1 \(code) \(phrase)\r\n"))
    }

    @Test func `every status of a final answer has a reason phrase, and the phrase of a status is kept`() {
        for code in 200...599 { #expect(HTTPResponse.Status(code: code).phrase.contains(/^[A-Z]/), "\(code)") }
        #expect(HTTPResponse.Status(code: 200, reasonPhrase: "Fine").phrase == "Fine")
    }

    @Test func `a reply that changes after it was written is written again`() {
        var reply = Self.reply(isRepeated: true)
        reply.fields[.location] = "/x"
        reply.status = .created
        let text = String(buffer: reply.bytes(to: .sent("mine"), isLast: false, isHead: true))
        #expect(text.hasPrefix("HTTP/1.1 201 Created\r\n") && text.contains("\r\nLocation: /x\r\n"))
        #expect(text.contains(Self.added))
    }

    private static func reply(isRepeated: Bool) -> Reply {
        let written = Reply(json: Array("{}".utf8))
        var reply = isRepeated ? written.repeatable() : written
        reply.add("Cache-Status") { $0.append("receipt-gateway; hit") }
        reply.add(HTTPField(name: .known("RateLimit"), value: "r"))
        reply.add(line: DateField().line(at: Timestamp(millisecondsSince1970: 1500)))
        return reply
    }
}
