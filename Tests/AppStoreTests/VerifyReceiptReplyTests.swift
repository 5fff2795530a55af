// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import AppStore
@testable import HTTPClient

struct VerifyReceiptReplyTests {
    private static let now = Timestamp(millisecondsSince1970: 1_700_000_000_000)

    @Test func `a reply has Apple's answer and its header`() throws {
        let reply = try Self.reply(
            headers: [
                ("X-Apple-Jingle-Correlation-Key", "ABC234"), ("retry-after", "7"), ("Deprecation", "@1688169599"),
                ("Sunset", "Sat, 31 Dec 2033 23:59:59 GMT"), ("Link", "<https://a.example>; rel=sunset"),
            ])
        #expect(reply.response.status == .sandboxReceipt)
        #expect(reply.head.httpStatus == 200 && reply.head.correlationKey == "ABC234")
        #expect(reply.head.retryAfter == .seconds(7) && reply.head.took == .seconds(3))
        #expect(reply.head.announcements.deprecation == .dated(Timestamp(millisecondsSince1970: 1_688_169_599_000)))
        #expect(reply.head.announcements.sunset != nil && reply.head.announcements.links.count == 1)
    }

    @Test(arguments: [429, 500, 503, 599, 301, 204, 400, 403, 404, 600])
    func `a status has its own failure, with the header's values`(_ status: Int) throws {
        let failure = #expect(throws: VerifyReceiptFailure.self) {
            try Self.reply(status: status, headers: [("Retry-After", "1700000002000")])
        }
        let head = try #require(failure?.head)
        #expect(head.httpStatus == status && head.retryAfter == .seconds(2))
        let expected: VerifyReceiptFailure =
            status == 429
            ? .throttled(head) : (500..<600).contains(status) ? .serverError(head) : .unexpectedStatus(head)
        #expect(failure == expected)
    }

    @Test func `a web page instead of an answer is unusable`() throws {
        let failure = #expect(throws: VerifyReceiptFailure.self) { try Self.reply(body: "<html>") }
        let head = try #require(failure?.head)
        #expect(failure == .unusable(.html, head))
    }

    @Test(
        arguments: [
            ("ABC-1._z", "ABC-1._z"), ("a b\"\n\u{1B}[31m<é>", "ab31m"), ("", nil), ("\"<>", nil),
            (String(repeating: "x", count: 65), String(repeating: "x", count: 64)),
        ] as [(String, String?)])
    func `the correlation key is harmless in a log`(value: String, expected: String?) throws {
        #expect(try Self.reply(headers: [("x-apple-jingle-correlation-key", value)]).head.correlationKey == expected)
    }

    @Test func `an unreadable header does not fail the reply`() throws {
        let reply = try Self.reply(headers: [
            ("Retry-After", "soon"), ("Deprecation", "x"), ("Sunset", "y"), ("Link", "z"),
        ])
        #expect(reply.head.retryAfter == nil)
        #expect(
            reply.head.announcements.faults == [.unreadable(.deprecation), .unreadable(.sunset), .unreadable(.link)])
    }

    @Test func `the request is a POST of JSON`() {
        let question = VerifyReceiptRequest(receipt: [1])
        let request = VerifyReceiptEndpoint.transportRequest(question, url: "https://a.example/verifyReceipt")
        #expect(request.method == .post && request.url == "https://a.example/verifyReceipt")
        #expect(request.body == question.body)
        #expect(request.headers.contains(TransportHeader(name: "Content-Type", value: "application/json")))
    }

    private static func reply(
        status: Int = 200, headers: [(String, String)] = [], body: String = #"{"status":21007}"#
    ) throws(VerifyReceiptFailure) -> VerifyReceiptReply {
        let answer = TransportResponse(
            status: status, headers: headers.map { TransportHeader(name: $0, value: $1) },
            body: Array(body.utf8), httpVersion: .http1_1, connectionWasReused: false,
            took: .seconds(3))
        return try VerifyReceiptReply(answer, at: now)
    }
}
