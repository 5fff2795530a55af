// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Resilience
import Testing
import TestSupport

@testable import HTTPServer
@testable import ServerTestSupport

struct RouteTableTests {
    private var gateway: RunningGateway { .current }
    private static let table = RouteTable([
        Route(.post, "/v1/verify") { _ in Reply(body: []) },
        Route(.get, "/v1/status") { _ in Reply(body: []) },
        Route(.post, "/v1/status", authentication: .none) { _ in Reply(body: []) },
        Route(.delete, RouteLabel.purge.rawValue) { _ in Reply(body: []) },
        Route(.post, RouteLabel.signatures.rawValue) { _ in Reply(body: []) },
        Route(.post, RouteLabel.appleProxy.rawValue) { _ in Reply(body: []) },
    ])

    @Test(
        arguments: [
            ("/v1/verify", RouteLabel.verify), ("/v1/verify/", .other), ("//v1//verify", .other),
            ("//v1/verify", .other), ("/v1/cache/transactions/1", .purge), ("/v1/cache/transactions/1/", .other),
            ("/v1/cache/transactions/", .other), ("/v1/cache/transactions", .other),
            ("/v1/cache/transactions/1/2", .other), ("/v1/status", .status), ("/v1/verify2", .other),
            ("/V1/verify", .other), ("/v1/v%65rify", .other), ("/other", .other), ("/", .other), ("", .other),
            ("*", .other), ("/v1/apple", .other), ("/v1/apple/", .other), ("/v1/apples/a", .other),
            ("/v1/apple/a", .appleProxy), ("/v1/apple/a/b/c/d//e/", .appleProxy), ("/v1/apple//", .appleProxy),
            ("/v1/apple/a/signatures/b", .signatures), ("/v1/apple//signatures/", .signatures),
            ("/v1/apple/a/signatures", .appleProxy), ("/v1/apple/a/signatures/b/", .appleProxy),
            ("/v1/apple/a/b/signatures/c", .appleProxy), ("/v1/apple/a/signature/b", .appleProxy),
            ("/v1/apple/a/Signatures/b", .appleProxy), ("/v1/apple/signatures/b", .appleProxy),
        ] as [(String, RouteLabel)])
    func `a path matches byte by byte, and {id} matches one segment`(path: String, label: RouteLabel) {
        let match = Self.table.match(.post, path)
        #expect(match.label == label)
        #expect((match.template == nil) == (label == .other))
    }

    @Test(
        arguments: [
            ("/open", "/open", ""), ("/open/", "/open", ""), ("/open//", nil, ""), ("/open/a", "/open/{id}", "a"),
            ("/open/a/", "/open/{id}", "a"), ("/open/a//", nil, ""), ("/open/a/b/", nil, ""), ("/", nil, ""),
        ] as [(String, String?, String)])
    func `a route may ignore one slash at the end`(path: String, template: String?, parameter: String) {
        let table = RouteTable(
            ["/open", "/open/{id}"].map { template in
                Route(.post, template, allowsTrailingSlash: true) { _, _ in .done(Reply(body: [])) }
            })
        let match = table.match(.post, path)
        #expect(match.template == template && match.parameter == parameter)
    }

    @Test func `a health check is open to GET and HEAD, other methods need what other paths need`() {
        let table = RouteTable([Route(probe: "/") { Reply(body: []) }])
        for method in [.get, .head] as [HTTPRequest.Method] { #expect(table.match(method, "/").isProbe) }
        for method in [.post, .put, .options] as [HTTPRequest.Method] {
            #expect(table.match(method, "/").authentication == .apiKey)
            #expect(table.match(method, "/").path?.allowed == "GET, HEAD, OPTIONS")
        }
    }

    /// A word between parameters is part of the rest.
    @Test(arguments: [
        (HTTPRequest.Method.delete, "/v1/cache/transactions/", "%31;x"),
        (.post, "/v1/apple/", "com.example/signatures/%2e"),
        (.post, "/v1/apple/", "com.example/sandbox/inApps/v1/%2e%2e//x"),
    ])
    func `the handler gets the rest of the path from the first parameter on, undecoded`(
        method: HTTPRequest.Method, path: String, parameter: String
    ) {
        let match = Self.table.match(method, path + parameter)
        #expect(match.route != nil && match.parameter == parameter)
    }

    @Test(
        arguments: [
            (.get, .get), (.head, .get), (.post, .post), (.options, nil), (.put, nil), (.delete, nil),
        ] as [(HTTPRequest.Method, HTTPRequest.Method?)])
    func `HEAD uses the route of GET, OPTIONS and other methods have none`(
        method: HTTPRequest.Method, found: HTTPRequest.Method?
    ) {
        let match = Self.table.match(method, "/v1/status")
        #expect(match.route?.method == found)
        #expect(match.path?.allowed == "GET, POST, HEAD, OPTIONS")
    }

    @Test func `each route has its own authentication`() {
        #expect(Self.table.match(.get, "/v1/status").authentication == .apiKey)
        #expect(Self.table.match(.post, "/v1/status").authentication == .none)
    }

    @Test func `an unknown path needs the authentication of its listener`() {
        #expect(Self.table.match(.get, "/nope").authentication == .apiKey)
        #expect(RouteTable([], authenticationElsewhere: .none).match(.get, "/nope").authentication == .none)
    }

    @Test func `each path is listed once`() {
        #expect(
            Self.table.templates
                == [
                    "/v1/verify", "/v1/status", RouteLabel.purge.rawValue, RouteLabel.signatures.rawValue,
                    RouteLabel.appleProxy.rawValue,
                ])
    }

    @Test(.gateway) func `slow and fast requests are answered in order`() async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            let waiting = "DELETE /v1/cache/transactions/1 HTTP/1.1\r\nHost: x\r\nX-Request-Id: "
            let known = "GET /v1/status HTTP/1.1\r\nHost: x\r\nX-Request-Id: "
            try await connection.send(
                (1...6).map { ($0.isMultiple(of: 2) ? waiting : known) + "\($0)\r\n\r\n" }.joined())
            for number in 1...6 {
                #expect(try await connection.answer()?.headers["x-request-id"] == "\(number)")
            }
        }
    }
}
