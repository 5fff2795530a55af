// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOPosix
import Resilience
import Testing
import TestSupport

@testable import HTTPServer
@testable import ServerTestSupport

/// Bodies that would delay the other connections of an event loop.
@Suite(.timeLimit(.patient)) struct LargeBodyTests {
    @Test(arguments: [(64 << 10, true), (64 << 10 + 1, false)])
    func `a body of more than 64 KiB is read on another thread`(bytes: Int, isOnLoop: Bool) async throws {
        let route = Route(.post, "/read", authentication: .none) { _, _ in
            let isOnLoop = MultiThreadedEventLoopGroup.currentEventLoop != nil
            return .done(Reply(json: Array("\(isOnLoop)".utf8)))
        }
        try await EventSite.listen(to: route) { port in
            try await RawConnection.with(port: port) { connection in
                let head = "POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: \(bytes)\r\n\r\n"
                try await connection.send(head + String(repeating: " ", count: bytes))
                #expect(try await connection.answer()?.body == "\(isOnLoop)")
            }
        }
    }
}
