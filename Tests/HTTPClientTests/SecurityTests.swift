// SPDX-License-Identifier: Apache-2.0

import HTTPClient
import LoopbackPorts
import NIOSSL
import ReceiptForge
import Testing

/// Certificate checks, forbidden addresses, and rejected requests.
struct SecurityTests {
    // MARK: - Certificates

    struct Stranger: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let identity: TLSIdentity
        var host = "localhost"
    }

    private static let strangers = [
        Stranger(
            testDescription: "unknown authority", identity: Authorities.unknown.identity(forHosts: ["localhost"])),
        Stranger(
            testDescription: "expired", identity: Authorities.trusted.expiredIdentity(forHosts: ["localhost"])),
        Stranger(
            testDescription: "another name",
            identity: Authorities.trusted.identity(forHosts: ["buy.itunes.apple.com"])),
        Stranger(
            testDescription: "a name for an address", identity: Authorities.trusted.identity(forHosts: ["localhost"]),
            host: "127.0.0.1"),
    ]

    @Test(arguments: strangers)
    func `an untrusted certificate is rejected before anything is sent`(_ stranger: Stranger) async throws {
        try await ScriptedServer.with(tls: stranger.identity) { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                await #expect(throws: TransportError.tlsVerification) {
                    try await transport.send(
                        TransportRequest(.post, url: server.url(host: stranger.host), body: Array("secret".utf8)))
                }
            }
            #expect(server.count(of: .request) == 0)
        }
    }

    @Test func `a certificate may name an address`() async throws {
        try await ScriptedServer.with(tls: Authorities.localhost) { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                let response = try await transport.send(TransportRequest(.get, url: server.url(host: "127.0.0.1")))
                #expect(response.status == 200)
            }
        }
    }

    @Test func `the system's authorities do not include a test's`() async throws {
        try await ScriptedServer.with(tls: Authorities.localhost) { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with {
                $0.caFile = nil
            } _: { transport in
                await #expect(throws: TransportError.tlsVerification) {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                }
            }
        }
    }

    @Test func `TLS below 1_2 is rejected`() async throws {
        try await ScriptedServer.with(
            tls: Authorities.localhost, maximumTLSVersion: .tlsv11
        ) { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                await #expect(throws: TransportError.tlsHandshake) {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                }
            }
        }
    }

    @Test func `a server without TLS fails the handshake`() async throws {
        try await ScriptedServer.greeting("220 hello\r\n") { port in
            try await HTTPTransport.with { transport in
                await #expect(throws: TransportError.tlsHandshake) {
                    try await transport.send(TransportRequest(.get, url: "https://localhost:\(port)/"))
                }
            }
        }
    }

    @Test func `a missing file of authorities is an error at start`() {
        var configuration = TransportConfiguration()
        configuration.caFile = "/nowhere/authorities.pem"
        #expect(throws: TransportError.trustStore) { try HTTPTransport(configuration) }
    }

    @Test func `a file without authorities is an error of the trust store`() async throws {
        try await HTTPTransport.with {
            $0.caFile = "/dev/null"
        } _: { transport in
            try await ScriptedServer.with(tls: Authorities.localhost) { _ in
                [.answer()]
            } _: { server in
                await #expect(throws: TransportError.trustStore) {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                }
            }
        }
    }

    // MARK: - Addresses

    @Test(arguments: ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"])
    func `no connection is made to a private address`(_ host: String) async throws {
        try await ScriptedServer.with { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with {
                $0.allowsPrivateAddresses = false
            } _: { transport in
                await #expect(throws: TransportError.forbiddenAddress) {
                    try await transport.send(TransportRequest(.get, url: server.url(host: host)))
                }
            }
            #expect(server.count(of: .accepted) == 0)
        }
    }

    @Test func `plain HTTP is rejected unless it is allowed`() async throws {
        try await ScriptedServer.with { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with {
                $0.allowsPlainHTTP = false
            } _: { transport in
                await #expect(throws: TransportError.insecureURL) {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                }
            }
            #expect(server.count(of: .accepted) == 0)
        }
    }

    @Test func `the defaults allow neither plain HTTP nor private addresses`() {
        let configuration = TransportConfiguration()
        #expect(!configuration.allowsPlainHTTP && !configuration.allowsPrivateAddresses)
    }

    // MARK: - Injection

    @Test(arguments: [
        "", "/path", "localhost", "file:///etc/passwd", "ftp://localhost/", "httpss://localhost/", "https:/localhost",
        "https://", "https://localhost/\r\nX: y", "https://localhost/\0", "https://local host/", "https://l\u{F6}/",
        "https://user:password@localhost/", "https://localhost:99999/", " https://localhost/",
        "https://localhost/" + String(repeating: "x", count: 8192),
    ])
    func `an invalid URL is rejected`(_ url: String) async throws {
        try await HTTPTransport.with { transport in
            await #expect(throws: TransportError.invalidURL) {
                try await transport.send(TransportRequest(.get, url: url))
            }
        }
    }

    @Test(arguments: [
        ("X\r\nY", "z"), ("X", "y\r\nZ: z"), ("X", "y\n"), ("X", "y\rz"), ("X", "y\0z"), ("X", "\u{7F}"), ("", "y"),
        ("X:", "y"), ("X Y", "z"), ("X\0", "y"), ("\u{E9}", "y"), ("content-length", "1"),
        ("Transfer-Encoding", "chunked"), ("HOST", "elsewhere"), ("Connection", "close"), ("Expect", "100-continue"),
        ("X", String(repeating: "y", count: 16_384)),
    ])
    func `a field that would change the message is rejected`(_ name: String, _ value: String) async throws {
        try await HTTPTransport.with { transport in
            let header = TransportHeader(name: name, value: value)
            await #expect(throws: TransportError.invalidHeader) {
                try await transport.send(TransportRequest(.get, url: "https://localhost/", headers: [header]))
            }
        }
    }

    @Test func `the configured User-Agent is checked like any field`() async throws {
        try await HTTPTransport.with {
            $0.userAgent = "x\r\nY: z"
        } _: { transport in
            await #expect(throws: TransportError.invalidHeader) {
                try await transport.send(TransportRequest(.get, url: "https://localhost/"))
            }
        }
    }

    @Test func `one field too many is rejected`() async throws {
        let header = TransportHeader(name: "X", value: "y")
        try await ScriptedServer.with { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                // The transport adds one of the 64: User-Agent.
                let most = TransportRequest(
                    .get, url: server.url(), headers: Array(repeating: header, count: 63))
                let status = try await transport.send(most).status
                #expect(status == 200)
                var oneMore = most
                oneMore.headers.append(header)
                await #expect(throws: TransportError.invalidHeader) { try await transport.send(oneMore) }
            }
        }
    }

    // MARK: - Proxies

    @Test func `a request is sent through the proxy`() async throws {
        try await ScriptedServer.with { request in
            [.answer(200, request.requestLine)]
        } _: { proxy in
            try await HTTPTransport.with {
                $0.proxy = "http://127.0.0.1:\(proxy.port)"
                $0.allowsPrivateAddresses = false
            } _: { transport in
                let response = try await transport.send(TransportRequest(.get, url: "http://upstream.example/x"))
                #expect(String(decoding: response.body, as: UTF8.self) == "GET http://upstream.example/x HTTP/1.1")
            }
        }
    }

    @Test(arguments: [403, 407, 502])
    func `a refusal by the proxy is a proxy error`(_ status: Int) async throws {
        try await ScriptedServer.with { _ in
            [.answer(status), .close]
        } _: { proxy in
            try await HTTPTransport.with {
                $0.proxy = "http://127.0.0.1:\(proxy.port)"
            } _: { transport in
                await #expect(throws: TransportError.proxy) {
                    try await transport.send(TransportRequest(.get, url: "https://upstream.example/"))
                }
            }
        }
    }

    @Test func `a missing proxy is a proxy error`() async throws {
        let reserved = try ReservedPort()
        for proxy in ["http://127.0.0.1:\(reserved.number)", "http://nothing.invalid:3128"] {
            try await HTTPTransport.with {
                $0.proxy = proxy
            } _: { transport in
                await #expect(throws: TransportError.proxy) {
                    try await transport.send(TransportRequest(.get, url: "https://upstream.example/"))
                }
            }
        }
    }
}
