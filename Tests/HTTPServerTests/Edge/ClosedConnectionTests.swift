// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing
import TestSupport

@testable import Customers
@testable import HTTPServer
@testable import Resilience
@testable import ServerTestSupport

/// The ends of waits whose clients have closed their half of the connection.
@Suite(.timeLimit(.patient)) struct ClosedConnectionTests {
    private var site: EventSite { .current }

    /// A route that answers when it is released, or when its wait is cancelled.
    private struct WaitingRoute {
        let waiter = Waiter<Bool>()
        let hasBegun = AsyncStream<Void>.makeStream()
        let endsWithClient: Bool

        var route: Route {
            Route(.get, "/wait", authentication: .none, waitLimit: .seconds(3600), endsWithClient: endsWithClient) {
                [waiter, hasBegun] _, _ in
                .wait {
                    hasBegun.continuation.finish()
                    let isReleased = await waiter.value(waitLimit: .seconds(3600), Timeouts())
                    return .done(Reply(json: Array((isReleased == nil ? #""cancelled""# : #""released""#).utf8)))
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func `only a wait for something to happen ends with its client`(endsWithClient: Bool) async throws {
        let waiting = WaitingRoute(endsWithClient: endsWithClient)
        try await EventSite.listen(to: waiting.route) { port in
            try await RawConnection.with(port: port) { connection in
                try await connection.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
                for await _ in waiting.hasBegun.stream {}
                connection.finishSending()
                if !endsWithClient { waiting.waiter.end(with: true) }
                let answer = try await connection.answer()
                #expect(answer?.body == (endsWithClient ? #""cancelled""# : #""released""#))
            }
        }
    }

    @Test func `a client that is gone when its wait begins waits for nothing`() async throws {
        let waiting = WaitingRoute(endsWithClient: true)
        try await EventSite.listen(to: waiting.route) { port in
            try await RawConnection.with(port: port) { connection in
                try await connection.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
                connection.finishSending()
                #expect(try await connection.answer()?.body == #""cancelled""#)
            }
        }
    }

    @Test(.eventSite) func `a stream ends with its client, and its slot is free`() async throws {
        try await site.stream { stream in
            _ = try await stream.text(upTo: "\n\n")
            try await eventually { site.watcher.count == 1 }
            stream.finishSending()
            // The last chunk, and then the end of the connection.
            #expect(try await stream.text(upTo: "no event").hasSuffix("0\r\n\r\n"))
            #expect(site.watcher.count == 0)
        }
    }
}
