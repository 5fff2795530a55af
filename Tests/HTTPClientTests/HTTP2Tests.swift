// SPDX-License-Identifier: Apache-2.0

import HTTPClient
import Testing

/// HTTP/2 (RFC 9113), which Apple's servers use if TLS negotiates it (ALPN).
struct HTTP2Tests {
    private static let open = Gate(isOpen: true)

    @Test func `HTTP_2 is negotiated if the server supports it`() async throws {
        try await ScriptedServer.withStreams { _ in
            .echo(after: Self.open)
        } _: { server in
            try await HTTPTransport.with { transport in
                let body = [UInt8](repeating: 7, count: 1_000_000)
                let response = try await transport.send(TransportRequest(.post, url: server.url(), body: body))
                #expect(response.httpVersion == .http2)
                #expect(response.body == body)
                #expect(response.headers.values(of: "Link") == ["a", "b"])
                #expect(server.count(of: .handshake(alpn: "h2")) == 1)
            }
        }
    }

    /// No request is answered before all have arrived.
    @Test func `one connection carries many requests at once`() async throws {
        let gate = Gate()
        try await ScriptedServer.withStreams { _ in
            .echo(after: gate)
        } _: { server in
            try await HTTPTransport.with { transport in
                async let statuses = withThrowingTaskGroup { group in
                    for _ in 0..<50 {
                        group.addTask { try await transport.send(TransportRequest(.get, url: server.url())).status }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                await server.saw(.request, times: 50)
                gate.open()
                let answered = try await statuses
                #expect(answered == Array(repeating: 200, count: 50))
                #expect(server.count(of: .accepted) == 1)
            }
        }
    }

    @Test func `cancelling one request resets its stream and no other`() async throws {
        let gate = Gate()
        try await ScriptedServer.withStreams { path in
            path == "/held" ? .hold : .echo(after: gate)
        } _: { server in
            try await HTTPTransport.with { transport in
                async let kept = transport.send(TransportRequest(.get, url: server.url()))
                let dropped = Task { try await transport.send(TransportRequest(.get, url: server.url("/held"))) }
                await server.saw(.request, times: 2)
                dropped.cancel()
                await #expect(throws: TransportError.cancelled) { try await dropped.value }
                gate.open()
                let status = try await kept.status
                #expect(status == 200)
                // libcurl 7.88 may delay the reset until it sends something else on the connection.
                _ = try await transport.send(TransportRequest(.get, url: server.url()))
                await server.saw(.streamReset)
                #expect(server.count(of: .accepted) == 1)
            }
        }
    }

    @Test func `a stream the server resets is a reset`() async throws {
        try await ScriptedServer.withStreams { _ in
            .reset
        } _: { server in
            try await HTTPTransport.with { transport in
                await #expect(throws: TransportError.reset) {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                }
            }
        }
    }
}
