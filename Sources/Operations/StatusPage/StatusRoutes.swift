// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPServer
internal import HTTPTypes
internal import NIOCore
internal import Receipts

/// The status page on the admin plane: `/` for people, `/status.json` for programs, `/status.events` for the page.
package struct StatusRoutes: Sendable {
    let board: StatusBoard

    package init(board: StatusBoard) {
        self.board = board
    }

    /// The three routes. None requires a key, and none shows data that a key protects.
    package var routes: [Route] {
        [
            Route(.get, "/", authentication: .none, on: .thread) { _ in
                Reply(fields: StatusPage.headers, body: ByteBuffer(bytes: board.page.html.utf8))
            },
            Route(.get, "/status.json", authentication: .none, on: .thread) { _ in
                var reply = Reply(json: board.json)
                reply.fields[.cacheControl] = "no-store"
                return reply
            },
            Route(.get, "/status.events", authentication: .none, on: .thread, reply: events),
        ]
    }

    /// Streams events until the viewer leaves or the node stops.
    @Sendable private func events(_ context: RequestContext) throws -> Reply {
        guard let stream = board.admit(after: context.header.lastEvent) else { throw Problem.tooManyViewers }
        return Reply(fields: [.contentType: "text/event-stream", .cacheControl: "no-store"], stream: stream)
    }
}

extension RequestHeader {
    /// The viewer's last event; nil if it is not one of this gateway's.
    fileprivate var lastEvent: Timestamp? {
        let values = values(of: "Last-Event-ID")
        return values.count == 1 ? Int64(values[0]).map { Timestamp(millisecondsSince1970: $0) } : nil
    }
}

extension Problem {
    /// Also used when the node stops.
    fileprivate static let tooManyViewers: Problem = {
        var problem = Problem(
            .serviceUnavailable, .overloaded,
            "The status page already has \(StatusBoard.Limits.viewers) viewers, or this node is stopping. Retry later.")
        problem.headerFields[.retryAfter] = "10"
        return problem
    }()
}
