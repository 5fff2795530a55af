// SPDX-License-Identifier: Apache-2.0

import HTTPClient
import LoopbackPorts
import Testing

/// Faults of upstreams and of the network, and their errors.
struct FailureTests {
    /// A faulty answer, as a server's script.
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [ScriptedServer.Step]
        let error: TransportError

        init(_ description: String, _ steps: [ScriptedServer.Step], _ error: TransportError) {
            (testDescription, self.steps, self.error) = (description, steps, error)
        }
    }

    private static let half = ScriptedServer.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
    private static let faults = [
        Fault("closed before the answer", [.close], .reset),
        Fault("reset before the answer", [.reset], .reset),
        Fault("closed in the header", [.send("HTTP/1.1 200 OK\r\nA: b\r\n"), .close], .reset),
        Fault("closed in the body", [half, .close], .reset),
        Fault("reset in the body", [half, .reset], .reset),
        Fault(
            "closed before the last chunk",
            [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), .close], .reset),
        Fault("no HTTP", [.send("220 mail.example ESMTP\r\n"), .close], .protocolViolation),
        Fault("a status that is none", [.send("HTTP/1.1 099 X\r\n\r\n"), .close], .protocolViolation),
        Fault("a line without a colon", [.send("HTTP/1.1 200 OK\r\nabc\r\n\r\n"), .close], .protocolViolation),
        Fault("a folded line", [.send("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"), .close], .protocolViolation),
        Fault("a space before the colon", [.send("HTTP/1.1 200 OK\r\nA : b\r\n\r\n"), .close], .protocolViolation),
        Fault("an upgrade", [.send("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"), .close], .reset),
    ]

    @Test(arguments: faults)
    func `a fault of the upstream has its error`(_ fault: Fault) async throws {
        try await ScriptedServer.with { _ in
            fault.steps
        } _: { server in
            try await HTTPTransport.with { transport in
                await #expect(throws: fault.error) {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                }
            }
        }
    }

    /// Of the requests on one kept connection, the server answers the first only.
    @Test(arguments: [(true, 3), (false, 2)])
    func `a request that must not be repeated is sent once, on a new connection`(
        isRepeatable: Bool, requests: Int
    ) async throws {
        try await ScriptedServer.with { request in
            request.requestLine.hasPrefix("GET") ? [.answer()] : [.close]
        } _: { server in
            try await HTTPTransport.with { transport in
                _ = try await transport.send(TransportRequest(.get, url: server.url()))
                var write = TransportRequest(.put, url: server.url(), body: [1])
                write.isRepeatable = isRepeatable
                await #expect(throws: TransportError.reset) { try await transport.send(write) }
                #expect(server.count(of: .request) == requests && server.count(of: .accepted) == 2)
            }
        }
    }

    @Test(arguments: faults.filter { $0.error == .reset })
    func `a connection that ends too early does so over TLS too`(_ fault: Fault) async throws {
        try await ScriptedServer.with(tls: Authorities.localhost) { _ in
            fault.steps
        } _: { server in
            try await HTTPTransport.with { transport in
                await #expect(throws: TransportError.reset) {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                }
            }
        }
    }

    @Test func `a port without a listener refuses the connection`() async throws {
        let reserved = try ReservedPort()
        try await HTTPTransport.with { transport in
            await #expect(throws: TransportError.connect) {
                try await transport.send(TransportRequest(.get, url: "http://127.0.0.1:\(reserved.number)/"))
            }
        }
    }

    @Test func `a name without an address is not resolved`() async throws {
        try await HTTPTransport.with { transport in
            await #expect(throws: TransportError.resolve) {
                try await transport.send(TransportRequest(.get, url: "https://nothing.invalid/"))
            }
        }
    }

    @Test func `another request goes on when one fails`() async throws {
        let gate = Gate()
        try await ScriptedServer.with { request in
            request.requestLine.contains("/bad") ? [.reset] : [.wait(gate), .answer(200, "good")]
        } _: { server in
            try await HTTPTransport.with { transport in
                async let good = transport.send(TransportRequest(.get, url: server.url("/good")))
                await server.saw(.request)
                await #expect(throws: TransportError.reset) {
                    try await transport.send(TransportRequest(.get, url: server.url("/bad")))
                }
                gate.open()
                let body = try await good.body
                #expect(body == Array("good".utf8))
            }
        }
    }
}
