// SPDX-License-Identifier: Apache-2.0

import HTTPClient
import Testing

/// Each limit, reached and exceeded by one.
struct LimitTests {
    @Test(arguments: [(100, nil), (101, TransportError.tooLarge)], ["Content-Length: %", "X-Length: %"])
    func `a body may have as many bytes as configured`(
        _ size: (bytes: Int, error: TransportError?), _ header: String
    ) async throws {
        let head = "HTTP/1.1 200 OK\r\n\(header.replacing("%", with: "\(size.bytes)"))\r\n\r\n"
        let body = String(repeating: "x", count: size.bytes)
        try await ScriptedServer.with { _ in
            [.send(head), .send(body), .close]
        } _: { server in
            try await HTTPTransport.with {
                $0.maximumResponseBytes = 100
            } _: { transport in
                let outcome = await Self.outcome { () throws(TransportError) in
                    try await transport.send(TransportRequest(.get, url: server.url())).body.count
                }
                #expect(outcome == (size.error.map { .failure($0) } ?? .success(size.bytes)))
            }
        }
    }

    @Test func `an endless body is rejected`() async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunk = "400\r\n\(String(repeating: "x", count: 1024))\r\n"
        let script = [.send(head)] + Array(repeating: ScriptedServer.Step.send(chunk), count: 2000) + [.hold]
        try await ScriptedServer.with { _ in
            script
        } _: { server in
            try await HTTPTransport.with {
                $0.maximumResponseBytes = 1024 * 1024
            } _: { transport in
                await #expect(throws: TransportError.tooLarge) {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                }
                await server.saw(.closed)
            }
        }
    }

    /// 17 bytes for the status line, 19 for the length, 2 for the empty line, and a field that fills the rest.
    @Test(arguments: [(1000, nil), (1001, TransportError.tooLarge)])
    func `a header may have as many bytes as configured`(_ bytes: Int, _ error: TransportError?) async throws {
        let filler = "X: " + String(repeating: "x", count: bytes - 17 - 19 - 2 - 5)
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(filler)\r\n\r\n"
        try #require(answer.utf8.count == bytes)
        try await ScriptedServer.with { _ in
            [.send(answer)]
        } _: { server in
            try await HTTPTransport.with {
                $0.maximumHeaderBytes = 1000
            } _: { transport in
                let outcome = await Self.outcome { () throws(TransportError) in
                    try await transport.send(TransportRequest(.get, url: server.url())).status
                }
                #expect(outcome == (error.map { .failure($0) } ?? .success(200)))
            }
        }
    }

    @Test func `endless interim answers are rejected`() async throws {
        let interim = ScriptedServer.Step.send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
        try await ScriptedServer.with { _ in
            Array(repeating: interim, count: 3000) + [.hold]
        } _: { server in
            try await HTTPTransport.with { transport in
                await #expect(throws: TransportError.tooLarge) {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                }
            }
        }
    }

    @Test func `one request too many is rejected at once`() async throws {
        let gate = Gate()
        try await ScriptedServer.with { _ in
            [.wait(gate), .answer()]
        } _: { server in
            try await HTTPTransport.with {
                $0.maximumRequests = 2
            } _: { transport in
                async let first = transport.send(TransportRequest(.get, url: server.url()))
                async let second = transport.send(TransportRequest(.get, url: server.url()))
                await server.saw(.request, times: 2)
                #expect(transport.requestsInFlight == 2)
                await #expect(throws: TransportError.tooManyRequests) {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                }
                gate.open()
                let statuses = try await [first.status, second.status]
                #expect(statuses == [200, 200])
            }
        }
    }

    private static func outcome<Value: Sendable>(
        _ body: () async throws(TransportError) -> Value
    ) async -> Result<Value, TransportError> {
        do throws(TransportError) { return .success(try await body()) } catch { return .failure(error) }
    }
}
