// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Gateway
import Logging
import Receipts
import Testing

@testable import AppStore
@testable import Server

/// What Apple says goes into lines that people read in terminals.
struct UpstreamLogTests {
    private let lines = LogLines()

    @Test(arguments: [
        ("com.apple.Oops", "com.apple.Oops"), (#"a\u0007\u001B[2Jb\u202Ec\nd"#, "a[2Jbcd"),
        (String(repeating: "é", count: 70) + String(repeating: "x", count: 70), String(repeating: "x", count: 64)),
    ])
    func `an exception of Apple's is logged in visible characters, and not without end`(
        exception: String, logged: String
    ) throws {
        let json = #"{"status":21199,"exception":"\#(exception)"}"#
        let log = UpstreamLog(
            logger: Logger(label: "test") {
                JSONLogHandler(
                    label: $0, level: .trace, clock: { Timestamp(millisecondsSince1970: 0) }, write: lines.append)
            })
        log.answered(
            VerifyReceiptReply(response: try VerifyReceiptResponse(parsing: Array(json.utf8)), head: .blank),
            .production)
        #expect(lines.containing(#""exception":"\#(logged)""#).count == 1)
    }
}

extension ReplyHead {
    fileprivate static let blank = ReplyHead(
        httpStatus: 200, correlationKey: nil, retryAfter: nil,
        announcements: EndpointAnnouncements(), took: .zero)
}
