// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import HTTPTransport
import Testing

/// Requests that come to a good end.
struct ExchangeTests {
    @Test func `a POST over TLS arrives whole, and so does its answer`() async throws {
        let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try await ScriptedServer.with(tls: Authorities.localhost) { request in
            [.answer(request.body == body ? 200 : 400, request.requestLine)]
        } _: { server in
            try await HTTPTransport.with { transport in
                let response = try await transport.send(
                    TransportRequest(.post, url: server.url("/verifyReceipt"), body: body))
                #expect(response.status == 200)
                #expect(String(decoding: response.body, as: UTF8.self) == "POST /verifyReceipt HTTP/1.1")
                #expect(response.httpVersion == .http1_1)
            }
        }
    }

    @Test func `plain HTTP works where it is allowed`() async throws {
        try await ScriptedServer.with { _ in
            [.answer(404, "no such thing")]
        } _: { server in
            try await HTTPTransport.with { transport in
                let response = try await transport.send(TransportRequest(.get, url: server.url()))
                #expect(response.status == 404)
                #expect(String(decoding: response.body, as: UTF8.self) == "no such thing")
            }
        }
    }

    @Test func `a server that never answers is given up at the deadline`() async throws {
        try await ScriptedServer.with(tls: Authorities.localhost) { _ in
            [.hold]
        } _: { server in
            try await HTTPTransport.with { transport in
                let start = ContinuousClock.now
                await #expect(throws: TransportError.timeout(.answering)) {
                    try await transport.send(
                        TransportRequest(.get, url: server.url()), deadline: start + .milliseconds(300))
                }
                #expect((.milliseconds(300) ..< .seconds(30)).contains(.now - start))
                await server.saw(.closed)
            }
        }
    }
}
