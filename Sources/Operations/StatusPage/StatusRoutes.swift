// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPServer
internal import HTTPTypes
internal import NIOCore
internal import Receipts

/// The status page on the admin plane: `/` for people, `/status.json` for programs, `/status.events` for the page.
package struct StatusRoutes: Sendable {
    /// What they show.
    let board: StatusBoard

    /// Creates the routes of the status page.
    package init(board: StatusBoard) {
        self.board = board
    }

    /// The three of them. None asks for a key, and none shows what a key protects.
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

    /// Goes on until the viewer leaves or the node ends.
    @Sendable private func events(_ context: RequestContext) throws -> Reply {
        guard let stream = board.admit(after: context.header.lastEvent) else { throw Problem.tooManyViewers }
        return Reply(fields: [.contentType: "text/event-stream", .cacheControl: "no-store"], stream: stream)
    }
}

extension RequestHeader {
    /// The last event that a viewer has; nil for one that is none of ours.
    fileprivate var lastEvent: Timestamp? {
        let values = values(of: "Last-Event-ID")
        return values.count == 1 ? Int64(values[0]).map { Timestamp(millisecondsSince1970: $0) } : nil
    }
}

extension Problem {
    /// Also when the node ends.
    fileprivate static let tooManyViewers: Problem = {
        var problem = Problem(
            .serviceUnavailable, .overloaded,
            "The status page is watched by \(StatusBoard.Limits.viewers) already, or this node ends.")
        problem.headerFields[.retryAfter] = "10"
        return problem
    }()
}
