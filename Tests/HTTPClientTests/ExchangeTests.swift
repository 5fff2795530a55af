// SPDX-License-Identifier: Apache-2.0

import HTTPClient
import Testing

/// Requests that succeed.
struct ExchangeTests {
    @Test func `a POST over TLS arrives whole, and so does its answer`() async throws {
        let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let text = String(repeating: "answer ", count: 100_000)
        try await ScriptedServer.with(tls: Authorities.localhost) { request in
            [.answer(request.body == body ? 200 : 400, text, headers: ["Asked: \(request.requestLine)"])]
        } _: { server in
            try await HTTPTransport.with { transport in
                let response = try await transport.send(
                    TransportRequest(.post, url: server.url("/verifyReceipt"), body: body))
                #expect(response.status == 200)
                #expect(response.headers.values(of: "asked") == ["POST /verifyReceipt HTTP/1.1"])
                #expect(String(decoding: response.body, as: UTF8.self) == text)
                #expect(response.httpVersion == .http1_1)
            }
        }
    }

    @Test(arguments: TransportRequest.Method.allCases)
    func `each method is sent under its name`(_ method: TransportRequest.Method) async throws {
        try await ScriptedServer.with { request in
            [.answer(200, request.requestLine)]
        } _: { server in
            try await HTTPTransport.with { transport in
                let response = try await transport.send(TransportRequest(method, url: server.url("/a?b=c")))
                #expect(String(decoding: response.body, as: UTF8.self) == "\(method.rawValue) /a?b=c HTTP/1.1")
            }
        }
    }

    @Test(arguments: [TransportRequest.Method.post, .put])
    func `a body arrives with its method, its type and its length`(_ method: TransportRequest.Method) async throws {
        let body = Array(#"{"appAccountToken":"7e3fb204-2d4f-4b0a-9d55-6f4a3c2b1a00"}"#.utf8)
        try await ScriptedServer.with { request in
            let fields = [request.requestLine, request.value(of: "Content-Type"), request.value(of: "Content-Length")]
            return [.answer(request.body == body ? 200 : 400, fields.compactMap(\.self).joined(separator: "\n"))]
        } _: { server in
            try await HTTPTransport.with { transport in
                let type = TransportHeader(name: "Content-Type", value: "application/json")
                let response = try await transport.send(
                    TransportRequest(method, url: server.url("/a"), headers: [type], body: body))
                let lines = "\(method.rawValue) /a HTTP/1.1\napplication/json\n\(body.count)"
                #expect(response.status == 200 && String(decoding: response.body, as: UTF8.self) == lines)
            }
        }
    }

    @Test func `a PUT without a body has the length 0`() async throws {
        try await ScriptedServer.with { request in
            [.answer(200, request.value(of: "Content-Length") ?? "none")]
        } _: { server in
            try await HTTPTransport.with { transport in
                let response = try await transport.send(TransportRequest(.put, url: server.url()))
                #expect(String(decoding: response.body, as: UTF8.self) == "0")
            }
        }
    }

    @Test func `only the given and the default fields are sent`() async throws {
        try await ScriptedServer.with { request in
            [.answer(200, request.headerLines.joined(separator: "\n"))]
        } _: { server in
            try await HTTPTransport.with { transport in
                let headers = [
                    TransportHeader(name: "X-Twice", value: "1"), TransportHeader(name: "X-Empty", value: " "),
                    TransportHeader(name: "x-twice", value: "é"),
                ]
                let body = [UInt8](repeating: 0, count: 2_000_000)
                let response = try await transport.send(
                    TransportRequest(.post, url: server.url(), headers: headers, body: body))
                let lines = String(decoding: response.body, as: UTF8.self).split(separator: "\n")
                #expect(
                    lines == [
                        "Host: localhost:\(server.port)", "Accept: */*", "User-Agent: receipt-gateway", "X-Twice: 1",
                        "X-Empty:", "x-twice: é", "Content-Length: 2000000",
                    ])
            }
        }
    }

    @Test func `fields keep their order and their duplicates`() async throws {
        let headers = ["Sunset: one", "Link: x", "SUNSET:two", "Empty:", "sunset:  three\t"]
        try await ScriptedServer.with { _ in
            [.answer(headers: headers)]
        } _: { server in
            try await HTTPTransport.with { transport in
                let response = try await transport.send(TransportRequest(.get, url: server.url()))
                #expect(response.headers.values(of: "Sunset") == ["one", "two", "three"])
                #expect(response.headers.values(of: "empty") == [""])
                #expect(response.headers.values(of: "missing") == [])
                #expect(
                    response.headers.map(\.name) == [
                        "Content-Length", "Sunset", "Link", "SUNSET", "Empty", "sunset",
                    ])
            }
        }
    }

    @Test func `only the final answer counts`() async throws {
        let early = "HTTP/1.1 103 Early Hints\r\nLink: early\r\n\r\n"
        let final = "HTTP/1.1 201 Created\r\nLink: final\r\nTransfer-Encoding: chunked\r\n\r\n"
        let body = "3\r\nabc\r\n0\r\nLink: trailer\r\n\r\n"
        try await ScriptedServer.with { _ in
            [.send(early), .send(early), .send(final), .send(body)]
        } _: { server in
            try await HTTPTransport.with { transport in
                let response = try await transport.send(TransportRequest(.get, url: server.url()))
                #expect(response.status == 201)
                #expect(response.headers.values(of: "Link") == ["final"])
                #expect(response.body == Array("abc".utf8))
            }
        }
    }

    @Test func `an answer may come in pieces`() async throws {
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\n\r\nhello"
        try await ScriptedServer.with(tls: Authorities.localhost) { _ in
            whole.map { .send(String($0)) }
        } _: { server in
            try await HTTPTransport.with { transport in
                let response = try await transport.send(TransportRequest(.get, url: server.url()))
                #expect(response.body == Array("hello".utf8))
                #expect(response.headers.values(of: "a") == ["b"])
            }
        }
    }

    @Test(arguments: [301, 304, 404, 429, 500, 503])
    func `every status is an answer, and no redirect is followed`(_ status: Int) async throws {
        try await ScriptedServer.with { _ in
            [.answer(status, headers: ["Location: /elsewhere"])]
        } _: { server in
            try await HTTPTransport.with { transport in
                let response = try await transport.send(TransportRequest(.get, url: server.url()))
                #expect(response.status == status)
                #expect(server.count(of: .request) == 1)
            }
        }
    }

    @Test func `one connection serves many requests`() async throws {
        try await ScriptedServer.with(tls: Authorities.localhost) { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                var reused: [Bool] = []
                for _ in 0..<20 {
                    reused.append(
                        try await transport.send(TransportRequest(.get, url: server.url())).connectionWasReused)
                }
                #expect(reused == [false] + Array(repeating: true, count: 19))
                #expect(server.count(of: .accepted) == 1)
            }
        }
    }

    @Test func `hosts do not close each other's idle connections`() async throws {
        try await ScriptedServer.with { _ in
            [.answer()]
        } _: { first in
            try await ScriptedServer.with { _ in
                [.answer()]
            } _: { second in
                try await HTTPTransport.with {
                    $0.maximumConnectionsPerHost = 1
                } _: { transport in
                    for _ in 0..<5 {
                        _ = try await transport.send(TransportRequest(.get, url: first.url()))
                        _ = try await transport.send(TransportRequest(.get, url: second.url()))
                    }
                }
                #expect(first.count(of: .accepted) == 1 && second.count(of: .accepted) == 1)
            }
        }
    }

    @Test func `a connection the server closed is replaced`() async throws {
        try await ScriptedServer.with { _ in
            [.answer(), .close]
        } _: { server in
            try await HTTPTransport.with { transport in
                for number in 1...5 {
                    let status = try await transport.send(TransportRequest(.get, url: server.url())).status
                    #expect(status == 200)
                    await server.saw(.closed, times: number)
                }
                #expect(server.count(of: .accepted) == 5)
            }
        }
    }

    @Test func `200 requests at once each get their own answer`() async throws {
        try await ScriptedServer.with(tls: Authorities.localhost) { request in
            [.answer(200, String(decoding: request.body, as: UTF8.self))]
        } _: { server in
            try await HTTPTransport.with { transport in
                let answers = try await Self.echoes(of: 0..<200, from: server, transport)
                #expect(answers == Array(0..<200))
            }
        }
    }

    @Test(arguments: [nil, [], ["http/1.1"]])
    func `a slow answer does not delay other requests`(_ alpn: [String]?) async throws {
        let gate = Gate()
        try await ScriptedServer.with(tls: alpn == nil ? nil : Authorities.localhost, alpn: alpn ?? []) { request in
            request.requestLine.contains("/slow") ? [.wait(gate), .answer()] : [.answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                async let slow = transport.send(TransportRequest(.get, url: server.url("/slow")))
                await server.saw(.request)
                let quick = try await transport.send(TransportRequest(.get, url: server.url("/quick")))
                #expect(quick.status == 200)
                gate.open()
                _ = try await slow
            }
        }
    }

    /// All begin by waiting to share the first one's connection. It cannot be shared, and none is answered before all
    /// have arrived.
    @Test func `a burst over HTTP_1 makes a connection for each`() async throws {
        let gate = Gate()
        try await ScriptedServer.with(tls: Authorities.localhost) { _ in
            [.wait(gate), .answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                async let echoes = Self.echoes(of: 0..<20, from: server, transport)
                await server.saw(.request, times: 20)
                gate.open()
                let count = try await echoes.count
                #expect(count == 20)
            }
        }
    }

    @Test func `requests beyond the connection limit wait for a connection`() async throws {
        try await ScriptedServer.with { request in
            [.answer(200, String(decoding: request.body, as: UTF8.self))]
        } _: { server in
            try await HTTPTransport.with {
                $0.maximumConnectionsPerHost = 3
            } _: { transport in
                let answers = try await Self.echoes(of: 0..<60, from: server, transport)
                #expect(answers == Array(0..<60))
                #expect(server.count(of: .accepted) <= 3)
            }
        }
    }

    private static func echoes(
        of numbers: Range<Int>, from server: ScriptedServer, _ transport: HTTPTransport
    ) async throws -> [Int] {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in numbers {
                group.addTask {
                    let request = TransportRequest(.post, url: server.url(), body: Array("\(number)".utf8))
                    return Int(String(decoding: try await transport.send(request).body, as: UTF8.self)) ?? -1
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted()
        }
    }

    @Test func `an answer tells its duration`() async throws {
        try await ScriptedServer.with { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                let took = try await transport.send(TransportRequest(.get, url: server.url())).took
                #expect(took > .zero)
            }
        }
    }
}
