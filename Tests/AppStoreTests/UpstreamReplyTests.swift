// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Gateway
import Testing

@testable import AppStore

/// The replies for Apple's HTTP statuses.
struct UpstreamReplyTests {
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

    @Test(arguments: [(.seconds(7), .seconds(7)), (nil, .seconds(5))] as [(Duration?, Duration)])
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
            took: .zero)
    }
}
