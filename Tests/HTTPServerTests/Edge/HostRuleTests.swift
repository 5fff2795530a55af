// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import ServerTestSupport
@testable import Settings

/// The protection of loopback listeners against web pages in a browser on this machine. `RawRequestTests` covers the
/// data plane without a clients file.
@Suite("Hosts and origins", .timeLimit(.patient))
struct HostRuleTests {
    private var gateway: RunningGateway { .current }

    @Test(
        .gateway { $0.adminHostNames = HostNames(["gateway-1"]) },
        arguments: [
            ("GET /metrics", "evil.example", 421), ("GET /", "evil.example:9090", 421), ("GET /status.json", "", 421),
            ("PUT /log-level", "evil.example", 421), ("HEAD /metrics", "evil.example", 421),
            ("GET /metrics", "127.0.0.1:9090", 200), ("GET /metrics", "localhost", 200), ("GET /metrics", "[::1]", 200),
            ("GET /metrics", "gateway-1:9091", 200), ("GET /metrics", "gateway-2:9091", 421),
            ("GET /livez", "evil.example", 200),
            ("GET /readyz", "evil.example", 200), ("GET /readyz?verbose", "evil.example", 200),
            ("GET /readyz/", "evil.example", 421), ("GET /readyzz", "evil.example", 421), ("HEAD /readyz", "", 200),
        ])
    func `the admin plane serves known hosts only`(line: String, host: String, status: Int) async throws {
        try await RawConnection.with(port: gateway.adminPort) { connection in
            try await connection.send("\(line) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            #expect(try await connection.answer(toHead: line.hasPrefix("HEAD"))?.status == status)
        }
    }

    @Test(.gateway) func `health checks of HTTP 1_0 without a host are answered on both planes`() async throws {
        for (path, port) in [
            ("/readyz", gateway.adminPort), ("/metrics", gateway.adminPort), ("/v1/status", gateway.port),
        ] {
            let answer = try await gateway.send("GET \(path) HTTP/1.0\r\n\r\n", port: port)
            #expect(answer?.status == 200)
        }
    }

    @Test(.gateway)
    func `a client of HTTP 1_0 keeps its connection if it asks for it, and the answer says so`() async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            for path in ["/v1/status", "/nope"] {
                try await connection.send("GET \(path) HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
                #expect(try await connection.answer()?.headers["connection"] == "keep-alive", "\(path)")
            }
            try await connection.send("GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await connection.answer()?.headers["connection"] == nil, "the default of HTTP/1.1")
            try await connection.send("GET /v1/status HTTP/1.0\r\n\r\n")
            #expect(try await connection.answer()?.headers["connection"] == "close")
            #expect(try await connection.isClosed())
        }
    }

    @Test(.gateway, arguments: ["", "Connection: keep-alive\r\n"])
    func `an answer without a length ends an HTTP 1_0 connection and is not chunked`(field: String) async throws {
        try await RawConnection.with(port: gateway.adminPort) { connection in
            try await connection.send("GET /status.events HTTP/1.0\r\n\(field)\r\n")
            let head = try await connection.text(upTo: "\r\n\r\n").lowercased()
            #expect(head.hasPrefix("http/1.1 200 ok\r\n") && head.contains("\r\nconnection: close\r\n"))
            #expect(!head.contains("transfer-encoding"))
            #expect(try await connection.text(upTo: "\n").firstMatch(of: /^[0-9a-f]+\r/) == nil)
        }
    }

    @Test(.gateway, arguments: ["http://evil.example", "null", "http://localhost:1", "https://localhost"])
    func `no web page changes the log level`(origin: String) async throws {
        let body = #"{"level":"trace"}"#
        let answer = try await gateway.send(
            "PUT /log-level HTTP/1.1\r\nHost: localhost\r\nOrigin: \(origin)\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)", port: gateway.adminPort)
        #expect(answer?.status == 403 && answer?.body.contains(#""code":"foreign_origin""#) == true)
        #expect(gateway.log.containing("Log settings").isEmpty)
    }

    @Test func `with API keys any host is served, but web pages purge nothing`() async throws {
        let key = APIKey.random()
        try await RunningGateway.withClient(key, "apps: '*'", "may: [purge]") { gateway in
            let fields = "Host: shop.example\r\nX-API-Key: \(key.exposed)\r\nContent-Type: application/json\r\n"
            let verify = "POST /v1/verify HTTP/1.1\r\n\(fields)Content-Length: 18\r\n"
            let purge = "DELETE /v1/cache/transactions/1 HTTP/1.1\r\n\(fields)"
            let foreign = "Origin: http://evil.example\r\n", own = "Origin: http://shop.example\r\n"
            let body = #"{"receipt":"AQID"}"#
            #expect(try await gateway.send("\(verify)\r\n\(body)")?.status == 200)
            #expect(try await gateway.send("\(verify)\(foreign)\r\n\(body)")?.status == 200)
            #expect(try await gateway.send("\(purge)\r\n")?.status == 200)
            #expect(try await gateway.send("\(purge)\(own)\r\n")?.status == 200)
            let refusal = try await gateway.send("\(purge)\(foreign)\r\n")
            #expect(refusal?.status == 403 && refusal?.body.contains(#""code":"foreign_origin""#) == true)
            let stranger = "DELETE /v1/cache/transactions/1 HTTP/1.1\r\nHost: shop.example\r\n\(foreign)\r\n"
            #expect(try await gateway.send(stranger)?.status == 401, "a page without a key learns no more than that")
        }
    }

    @Test func `a listener's host name is added to the known names, its address is not`() {
        let names = HostNames(["a"])
        #expect(names.adding(hostOf: ListenerConfiguration(host: "Gateway", port: 1)).names == ["a", "gateway"])
        for address in ["::1", "127.0.0.1", "0.0.0.0"] {
            #expect(names.adding(hostOf: ListenerConfiguration(host: address, port: 1)).names == ["a"])
        }
    }

    @Test(
        arguments: [
            ("gateway,Gateway.Payments.svc", "gateway,gateway.payments.svc"), (" a , b. ", "a,b"), ("a_b", "a_b"),
            ("a:80", nil), ("http://a", nil), ("*.a", nil), ("a b", nil), (".a", nil), ("é", nil),
            (String(repeating: "a", count: 254), nil),
        ] as [(String, String?)])
    func `host names are written without a port`(text: String, names: String?) {
        #expect((try? HostNames(configuration: text))?.configurationText == names)
    }
}
