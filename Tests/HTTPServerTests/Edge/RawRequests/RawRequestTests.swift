// SPDX-License-Identifier: Apache-2.0

import RealServers
import Testing
import TestSupport

@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// The edge against RFC 9110, 9112, 3986 and related ones, byte by byte.
@Suite("Raw requests", .timeLimit(.patient))
struct RawRequestTests {
    @Test func `the tables are as long as they should be, and name a clause for each request`() {
        let requests = RawRequest.tables.flatMap(\.requests)
        #expect(requests.count >= 300)
        #expect(requests.allSatisfy { $0.clause.contains(/^\d{4} §\d/) })
    }

    @Test(arguments: RawRequest.tables)
    func `each request is answered as the standards require`(table: RawRequest.Table) async throws {
        try await RunningGateway.with(Self.configure) { gateway in
            for request in table.requests { try await Self.check(request, port: gateway.port) }
            // The body's bytes may be released just after the response.
            try await eventually { gateway.server.bodyBudget.reserved == 0 }
        }
    }

    @Test(arguments: RawRequest.tables)
    func `each request is answered the same when it arrives byte by byte`(table: RawRequest.Table) async throws {
        try await RunningGateway.with(Self.configure) { gateway in
            for request in table.requests where request.text.utf8.count < 300 {
                try await Self.check(request, port: gateway.port, byteByByte: true)
            }
        }
    }

    @Test func `behind HAProxy no rejected request is served, and no response goes to another request`()
        async throws
    {
        try await RunningGateway.with(Self.configure) { gateway in
            let backend = RealServer.Backend(dataPort: gateway.port, adminPort: gateway.adminPort)
            let proxy = try await RealServer.haproxy(before: [backend], reusingConnections: true)
            let requests = RawRequest.tables.flatMap(\.requests).filter { !$0.isDirectOnly }
            for (number, request) in requests.enumerated() {
                try await Self.checkBehindProxy(request, number, port: proxy.port)
            }
        }
    }

    /// Deadlines of half a minute, so that a wrong table ends too.
    private static func configure(_ configuration: inout GatewayConfiguration) {
        configuration.http.hostNames = HostNames([RawRequest.hostName])
        configuration.http.deadlines = HTTPDeadlines(
            headers: .seconds(30), request: .seconds(30), answer: .seconds(30), idle: .seconds(30))
    }

    private static let probe = "GET /probe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Request-Id: "

    private static func check(_ request: RawRequest, port: Int, byteByByte: Bool = false) async throws {
        try await RawConnection.with(port: port) { connection in
            if byteByByte {
                for scalar in request.text.unicodeScalars { try await connection.send(String(scalar)) }
            } else if !request.text.isEmpty {
                try await connection.send(request.text)
            }
            if request.endsInput { connection.finishSending() }
            for (number, expected) in request.outcome.answers.enumerated() {
                let answer = try await connection.answer(toHead: !expected.hasBody)
                #expect(answer?.status == expected.status, "\(request)")
                guard let answer, answer.status >= 200 else { continue }
                check(answer, expected, to: request)
                let isLast = number == request.outcome.answers.count - 1
                guard !isLast || !request.endsInput else { continue }
                let isClosing = answer.headers["connection"] == "close"
                #expect(isClosing == (isLast && !request.outcome.isOpen), "RFC 9112 §9.6: \(request)")
            }
            if request.outcome.isOpen {
                try await connection.send(probe + "probe\r\n\r\n")
                #expect(try await connection.answer()?.headers["x-request-id"] == "probe", "\(request)")
            }
            #expect(try await connection.isClosed(), "\(request)")
        }
    }

    private static func check(_ answer: RawAnswer, _ expected: RawRequest.Answer, to request: RawRequest) {
        #expect(answer.headers["date"]?.hasSuffix(" GMT") == true, "RFC 9110 §6.6.1: \(request)")
        #expect(answer.body.isEmpty != expected.hasBody, "\(request)")
        let allowed = [204, 405].contains(answer.status) ? "POST, OPTIONS" : nil
        #expect(answer.headers["allow"] == allowed, "RFC 9110 §10.2.1: \(request)")
        guard let code = codes[answer.status] else { return }
        #expect(answer.headers["content-type"] == "application/problem+json", "\(request)")
        #expect(!expected.hasBody || answer.body.contains(#""code":"\#(code.rawValue)""#), "\(request): \(answer.body)")
    }

    /// The code of the problem that each status has.
    private static let codes: [Int: Problem.Code] = [
        400: .malformedRequest, 403: .foreignOrigin, 404: .notFound, 405: .methodNotAllowed, 413: .bodyTooLarge,
        414: .targetTooLong, 415: .unsupportedMediaType, 417: .expectationFailed, 421: .misdirectedRequest,
        431: .headerTooLarge, 501: .notImplemented, 505: .versionNotSupported,
    ]

    /// HAProxy rejects some of the requests itself, and repairs others, as the tables say. A rejected request must not
    /// be served, and no response may go to another request.
    private static func checkBehindProxy(_ request: RawRequest, _ number: Int, port: Int) async throws {
        // HAProxy may reset the connection before it has read all of a large request.
        let text =
            try? await RawConnection.with(port: port) { connection in
                try await connection.send(request.text + probe + "behind-\(number)\r\n\r\n")
                connection.finishSending()
                return try await connection.text(upTo: "\u{0}")
            }
        let statuses = (text ?? "").matches(of: /HTTP\/1\.[01] (\d{3})/).compactMap { Int($0.output.1) }
            .filter { $0 >= 200 }
        let expected = (request.behindProxy ?? request.outcome.answers.map(\.status)).filter { $0 >= 200 }
        #expect(statuses.count <= expected.count + 1, "\(request): \(statuses)")
        #expect(statuses.count(where: isSuccess) <= expected.count(where: isSuccess), "\(request): \(statuses)")
        var after = try await Self.next(after: number, port: port)
        // HAProxy's own 503, while its health checks wait for a busy machine.
        try await eventually {
            if after?.status == 503 { after = try await Self.next(after: number, port: port) }
            return after?.status != 503
        }
        #expect(
            after?.status == 404 && after?.headers["x-request-id"] == "after-\(number)",
            "\(request): \(statuses), then \(after?.status ?? 0)")
    }

    private static func next(after number: Int, port: Int) async throws -> RawAnswer? {
        try await RawConnection.with(port: port) { connection in
            try await connection.send(probe + "after-\(number)\r\n\r\n")
            return try await connection.answer()
        }
    }

    private static func isSuccess(_ status: Int) -> Bool { (200..<300).contains(status) }
}
