// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Logging
import Receipts
import Testing

@testable import AppStore
@testable import ServerTestSupport
@testable import Telemetry

/// Apple's texts go into lines that operators read in terminals.
struct VerifyReceiptLogTests {
    private let lines = LogLines()
    private let log: VerifyReceiptLog

    init() { log = VerifyReceiptLog(logger: lines.logger(LogSettings(LogSettings.Values(level: .trace)))) }

    @Test(arguments: [
        ("com.apple.Oops", "com.apple.Oops"), (#"a\u0007\u001B[2Jb\u202Ec\nd"#, "a[2Jbcd"),
        (String(repeating: "é", count: 70) + String(repeating: "x", count: 70), String(repeating: "x", count: 64)),
    ])
    func `an exception of Apple's is logged in visible characters, and truncated`(
        exception: String, logged: String
    ) throws {
        log.answered(try Self.reply(exception), to: VerifyReceiptRequest(receipt: [1, 2, 3]), .production)
        #expect(lines.containing(#""exception":"\#(logged)""#).count == 1)
    }

    private static let receipt = [UInt8]("A receipt must never appear in this log at all.".utf8)
    private static let options = VerifyReceiptRequest(
        receipt: receipt, sharedSecret: Secret("5ec4e7015ec4e7025ec4e7035ec4e704"))

    @Test(arguments: [
        ("no \u{1}5ec4e7015", true), ("5ec4e70", false), ("com.apple.receipt.password.Wrong", false),
        ("x" + String(decoding: options.body.dropFirst(27).prefix(8), as: UTF8.self), true),
        (String(decoding: options.body.dropFirst(27).prefix(7), as: UTF8.self) + ".", false), ("", false),
    ])
    func `an answer that repeats the request is not quoted`(exception: String, isRepeated: Bool) throws {
        #expect(Self.options.isEchoed(in: exception.filter { $0 != "\u{1}" }) == isRepeated)
        let reply = try Self.reply(
            exception.replacing("\u{1}", with: "\\u0001"), correlationKey: exception.filter { $0 != "\u{1}" })
        log.answered(reply, to: Self.options, .production)
        log.failed(.serverError(reply.head), about: Self.options, .production)
        let count = lines.containing("(contains request data)").count
        #expect(count == (isRepeated ? 2 : 0), "\(lines.containing(""))")
    }

    /// Returns an answer with an exception, escaped as in JSON.
    private static func reply(_ exception: String, correlationKey: String? = nil) throws -> VerifyReceiptReply {
        let json = #"{"status":21199,"exception":"\#(exception)"}"#
        let head = ReplyHead(
            httpStatus: 200, correlationKey: correlationKey, retryAfter: nil, announcements: EndpointAnnouncements(),
            receivedAt: Timestamp(millisecondsSince1970: 0), took: .zero)
        return VerifyReceiptReply(response: try VerifyReceiptResponse(parsing: Array(json.utf8)), head: head)
    }
}
