// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import Receipts

/// The status page on the admin plane: `/` for people, `/status.json` for programs, `/status.events` for the page.
struct StatusRoutes: Sendable {
    /// What they show.
    let board: StatusBoard

    /// The three of them. None asks for a key, and none shows what a key protects.
    var routes: [Route] {
        [
            Route(method: .get, path: "/") { _, _ in
                Response(
                    status: .ok, headers: StatusPage.headers,
                    body: ResponseBody(byteBuffer: ByteBuffer(bytes: board.page.html.utf8)))
            },
            Route(method: .get, path: "/status.json") { _, _ in
                var response = Response(json: board.json)
                response.headers[.cacheControl] = "no-store"
                return response
            },
            Route(method: .get, path: "/status.events", respond: events),
        ]
    }

    /// Goes on until the viewer leaves or the node ends.
    @Sendable private func events(_ request: Request, _ context: GatewayRequestContext) throws -> Response {
        guard let view = board.admit(after: request.headers.lastEvent) else { throw Problem.tooManyViewers }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                try await writer.write(view.first)
                for await event in view.events { try await writer.write(event) }
                try await writer.finish(nil)
            })
    }
}

extension HTTPFields {
    /// The last event that a viewer has; nil for one that is none of ours.
    fileprivate var lastEvent: Timestamp? {
        self[.lastEventID].flatMap { Int64($0) }.map { Timestamp(millisecondsSince1970: $0) }
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
