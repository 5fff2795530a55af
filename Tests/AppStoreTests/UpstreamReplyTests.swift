// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts
import Testing

@testable import AppStore

/// The replies for Apple's statuses, in JSON and of HTTP.
struct UpstreamReplyTests {
    private static let now = Timestamp(millisecondsSince1970: 0)

    @Test(arguments: [
        ("0", UpstreamOutcome.answered, UpstreamOutcome.answered), ("21006", .answered, .answered),
        ("21000", .failed(.requestRefused), .failed(.requestRefused)),
        ("21001", .failed(.requestRefused), .failed(.requestRefused)),
        ("21002", .refused(.malformed), .refused(.malformed)),
        ("21003", .refused(.notAuthenticated), .refused(.notAuthenticated)),
        ("21004", .refused(.secretRejected), .refused(.secretRejected)),
        ("21005", .failed(.unavailable), .failed(.unavailable)),
        ("21007", .otherEnvironment, .failed(.unusableAnswer)), ("21008", .failed(.unusableAnswer), .otherEnvironment),
        ("21009", .failed(.unavailable), .failed(.unavailable)),
        ("21010", .refused(.accountNotFound), .refused(.accountNotFound)),
        ("21011", .failed(.unusableAnswer), .failed(.unusableAnswer)),
        ("21099", .failed(.unusableAnswer), .failed(.unusableAnswer)),
        ("21100", .failed(.unavailable), .failed(.unavailable)),
        (#"21100,"is-retryable":"0""#, .refused(.brokenRecord), .refused(.brokenRecord)),
        (#"21100,"is_retryable":false"#, .refused(.brokenRecord), .refused(.brokenRecord)),
        (#"21100,"is_retryable":true"#, .failed(.unavailable), .failed(.unavailable)),
        (#"21199,"is-retryable":"1""#, .failed(.unavailable), .failed(.unavailable)),
        (#"21200,"is_retryable":true"#, .failed(.unusableAnswer), .failed(.unusableAnswer)),
        ("-1", .failed(.unusableAnswer), .failed(.unusableAnswer)),
        ("1", .failed(.unusableAnswer), .failed(.unusableAnswer)),
    ])
    func `each status has its reply`(status: String, production: UpstreamOutcome, sandbox: UpstreamOutcome) throws {
        let json = #"{"status":\#(status),"receipt":{"bundle_id":"a"}}"#
        let response = try VerifyReceiptResponse(parsing: Array(json.utf8))
        #expect(UpstreamOutcome(UpstreamReply(response, from: .production, at: Self.now)) == production)
        #expect(UpstreamOutcome(UpstreamReply(response, from: .sandbox, at: Self.now)) == sandbox)
    }

    @Test func `an answer in the style of iOS 6 has the endpoint's environment, and its receipt`() throws {
        let json = """
            {"status":0,"receipt":{"bid":"a","product_id":"p","transaction_id":"1"},"latest_receipt":"eyJhIiA9ICJiIjt9"}
            """
        let response = try VerifyReceiptResponse(parsing: Array(json.utf8))
        for (endpoint, environment) in [(UpstreamEnvironment.production, Environment.production), (.sandbox, .sandbox)]
        {
            let answer = try #require(UpstreamAnswer(response, from: endpoint, at: Self.now))
            #expect(answer.environment == environment && answer.bundleID == "a")
            #expect(answer.transactions.map(\.transactionID) == ["1"])
            #expect(answer.latestReceipt == Array(#"{"a" = "b";}"#.utf8))
        }
    }

    @Test(
        arguments: [
            (503, .seconds(7), .seconds(7)), (503, .seconds(3600), .seconds(3600)),
            // Without a wait: Apple's server failed, and a retry is possible.
            (503, nil, nil), (503, .zero, nil),
            (500, .seconds(7), nil), (502, .seconds(7), nil), (504, .seconds(7), nil),
        ] as [(Int, Duration?, Duration?)])
    func `503 with a wait pauses the upstream`(
        status: Int, retryAfter: Duration?, pause: Duration?
    ) {
        let reply = UpstreamReply(.serverError(Self.head(status, retryAfter)))
        switch (reply, pause) {
        case (.throttled(let span), let pause?): #expect(span == pause)
        case (.failure(.serverError), nil): break
        default: Issue.record("\(reply)")
        }
    }

    @Test(arguments: [(.seconds(7), .seconds(7)), (nil, .seconds(5)), (.zero, .seconds(1))] as [(Duration?, Duration)])
    func `429 always pauses the upstream`(retryAfter: Duration?, pause: Duration) {
        guard case .throttled(let span) = UpstreamReply(.throttled(Self.head(429, retryAfter))) else {
            Issue.record("no pause")
            return
        }
        #expect(span == pause)
    }

    private static func head(_ status: Int, _ retryAfter: Duration?) -> ReplyHead {
        ReplyHead(
            httpStatus: status, correlationKey: nil, retryAfter: retryAfter, announcements: EndpointAnnouncements(),
            receivedAt: Timestamp(millisecondsSince1970: 0), took: .zero)
    }
}
