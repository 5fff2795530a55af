// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import Operations
@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// The stream of events on a real connection.
@Suite("The stream of the status page", .timeLimit(.patient))
struct StatusRoutesTests {
    private var gateway: RunningGateway { .current }
    private static let request = "GET /status.events HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test func `the stream continues after the deadline of other responses`() async throws {
        let limit = Patience.forLimit
        try await RunningGateway.with({ $0.http.deadlines.answer = limit }) { gateway in
            try await RawConnection.with(port: gateway.adminPort) { connection in
                try await connection.send(Self.request)
                let head = try await connection.text(upTo: "\r\n\r\n")
                #expect(head.contains("200 OK") && head.contains("text/event-stream"))
                #expect(head.contains("no-store"))
                // The first two may come at once, and each later one after an interval: the last one after the deadline.
                for _ in 0..<Int(limit / StatusHistory.Limits.tick) + 3 {
                    #expect(try await connection.text(upTo: "\n\n").contains("\nretry: 2000\ndata: {"))
                }
            }
        }
    }

    @Test func `the stream ends when the node stops`() async throws {
        // The grace period of these gateways is an hour: waiting for a viewer would take that long.
        try await RunningGateway.with { gateway in
            try await RawConnection.with(port: gateway.adminPort) { connection in
                try await connection.send(Self.request)
                _ = try await connection.text(upTo: "\n\n")
                gateway.order(.interrupt)
                let rest = try await connection.text(upTo: "0\r\n\r\n")
                #expect(rest.hasSuffix("0\r\n\r\n"), "the stream ends with the last chunk")
                #expect(try await connection.isClosed())
            }
        }
    }

    @Test(.gateway) func `one viewer too many gets 503, and HEAD takes no viewer's slot`() async throws {
        for _ in 0..<2 * StatusBoard.Limits.viewers {
            try await RawConnection.with(port: gateway.adminPort) { connection in
                try await connection.send(Self.request.replacing("GET", with: "HEAD"))
                #expect(try await connection.answer(toHead: true)?.status == 200)
            }
        }
        try await Self.look(gateway, StatusBoard.Limits.viewers) {
            let answer = try await gateway.send(Self.request, port: gateway.adminPort)
            #expect(answer?.status == 503)
            #expect(answer?.headers["retry-after"] == "10")
            #expect(answer?.body.contains(#""code":"overloaded""#) == true)
        }
    }

    /// Opens nested streams.
    private static func look(
        _ gateway: RunningGateway, _ viewers: Int, then body: () async throws -> Void
    ) async throws {
        guard viewers > 0 else { return try await body() }
        try await RawConnection.with(port: gateway.adminPort) { connection in
            try await connection.send(request)
            #expect(try await connection.text(upTo: "\n\n").contains("data: "))
            try await look(gateway, viewers - 1, then: body)
        }
    }

    @Test(.gateway) func `only the admin plane has the page`() async throws {
        for path in ["/", "/status.json", "/status.events"] {
            let answer = try await gateway.ask("GET \(path)")
            // The root is a health check.
            #expect(answer?.status == (path == "/" ? 200 : 404) && answer?.body.contains("<html") == false)
        }
    }

    @Test func `only the admin plane names the apps without a key`() async throws {
        let key = APIKey.random()
        try await RunningGateway.withClient(
            key, "apps: [com.example.shop]", change: { $0.apple.isEnabled = true }
        ) { gateway in
            let status = try await gateway.ask("GET /status.json", port: gateway.adminPort)
            #expect(status?.body.contains(#""apps_without_key":["com.example.shop"]"#) == true)
            let forClients = try await gateway.ask("GET /v1/status", ["X-API-Key: \(key.exposed)"])
            #expect(forClients?.status == 200 && forClients?.body.contains("com.example.shop") == false)
        }
    }

    @Test(.gateway) func `the page does not close its connection`() async throws {
        try await RawConnection.with(port: gateway.adminPort) { connection in
            for _ in 0..<2 {
                try await connection.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                let answer = try await connection.answer()
                #expect(answer?.status == 200)
                #expect(answer?.headers["content-security-policy"]?.isEmpty == false)
                #expect(answer?.headers["cache-control"] == "no-store")
                #expect(answer?.headers["set-cookie"] == nil)
            }
        }
    }
}
