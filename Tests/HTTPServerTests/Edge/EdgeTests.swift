// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// Real sockets against a whole gateway. Deadlines are short only where they should pass; every wait is for a response
/// or for the end of a connection. `RawRequestTests` has the tables of requests and their problems.
@Suite("The edge", .timeLimit(.patient))
struct EdgeTests {
    private var gateway: RunningGateway { .current }
    private static let body = #"{"receipt":"AQID"}"#

    @Test(.gateway) func `a request is answered, and the connection stays open`() async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            for _ in 0..<3 {
                try await connection.send(post(Self.body))
                let answer = try await connection.answer()
                #expect(answer?.status == 200)
                #expect(answer?.headers["connection"] == nil)
            }
        }
        try await eventually { gateway.server.bodyBudget.reserved == 0 }
    }

    @Test(arguments: ["", "POST /v1/verify HTTP/1.1\r\nHost:"])
    func `a silent connection, and a header that trickles, get 408`(request: String) async throws {
        try await expectRefusal(of: request, status: 408, code: "request_timeout") {
            $0.http.deadlines.headers = .milliseconds(50)
        }
    }

    @Test func `a slow body gets 408`() async throws {
        try await expectRefusal(
            of: head("Content-Length: 100") + "{", status: 408, code: "request_timeout", logged: true
        ) { $0.http.deadlines.request = .milliseconds(50) }
    }

    @Test(.gateway { $0.http.deadlines.request = .milliseconds(100) })
    func `more bytes do not extend a deadline`() async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            try await connection.send(head("Transfer-Encoding: chunked"))
            let trickle = Task { [connection = UncheckedBox(connection)] in
                while !Task.isCancelled {
                    try await connection.value.send("1\r\n \r\n")
                    // The pace of the trickle.
                    try await Task.sleep(for: .milliseconds(1))
                }
            }
            #expect(try await connection.answer()?.status == 408)
            trickle.cancel()
            _ = await trickle.result
        }
    }

    @Test(.gateway { $0.http.deadlines.idle = .milliseconds(50) })
    func `an idle connection is closed without a response`() async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            try await connection.send(post(Self.body))
            #expect(try await connection.answer()?.status == 200)
            #expect(try await connection.isClosed())
        }
    }

    @Test func `a chunked body that grows too large gets 413`() async throws {
        let chunk = "400\r\n" + String(repeating: " ", count: 1024) + "\r\n"
        try await expectRefusal(
            of: head("Transfer-Encoding: chunked") + chunk + chunk + "1\r\n \r\n", status: 413, code: "body_too_large"
        ) { $0.http.limits.body = .kibibytes(2) }
    }

    @Test(.gateway { $0.http.limits.body = .kibibytes(2) }) func `a body of exactly the limit is read`() async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            let padding = String(repeating: " ", count: 2048 - Self.body.utf8.count)
            try await connection.send(post(Self.body + padding))
            #expect(try await connection.answer()?.status == 200)
        }
    }

    @Test func `bodies beyond the budget get 503, and other requests do not wait`() async throws {
        try await RunningGateway.with(scarceBudget) { gateway in
            try await RawConnection.with(port: gateway.port) { slow in
                // A body that never ends takes 3000 of 4096 bytes.
                try await slow.send(head("Content-Length: 4000") + String(repeating: " ", count: 3000))
                try await eventually { gateway.server.bodyBudget.reserved == 3000 }
                try await expectOverload(gateway, head("Content-Length: 2000"))
                try await expectOverload(
                    gateway, head("Transfer-Encoding: chunked") + "7d0\r\n" + String(repeating: " ", count: 2000))
                try await RawConnection.with(port: gateway.port) { other in
                    try await other.send(post(Self.body))
                    #expect(try await other.answer()?.status == 200)
                }
            }
            try await eventually { gateway.server.bodyBudget.reserved == 0 }
        }
    }

    @Test func `an announcement alone reserves nothing`() async throws {
        try await RunningGateway.with(scarceBudget) { gateway in
            try await RawConnection.with(port: gateway.port) { idle in
                try await idle.send(head("Content-Length: 4000", "Expect: 100-continue"))
                #expect(try await idle.answer()?.status == 100)
                #expect(gateway.server.bodyBudget.reserved == 0)
            }
        }
    }

    @Test(.gateway) func `a client that waits for 100 Continue gets it`() async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            try await connection.send(head("Content-Length: 18", "Expect: 100-Continue"))
            #expect(try await connection.answer()?.status == 100)
            try await connection.send(Self.body)
            #expect(try await connection.answer()?.status == 200)
        }
    }

    @Test(.gateway) func `a compressed body is refused, and the answer says what to send`() async throws {
        let answer = try await gateway.ask("POST /v1/verify", ["Content-Encoding: gzip"], body: "\u{1F}")
        #expect(answer?.status == 415 && answer?.headers["accept-encoding"] == "identity")
        #expect(answer?.body.contains(#""code":"unsupported_media_type""#) == true)
        #expect(answer?.body.contains("Content-Encoding is not supported. Send the body uncompressed") == true)
    }

    // MARK: - Steps

    private func head(_ fields: String...) -> String {
        "POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    private func post(_ body: String, _ fields: String...) -> String {
        head((fields + ["Content-Length: \(body.utf8.count)"]).joined(separator: "\r\n")) + body
    }

    private func scarceBudget(_ configuration: inout GatewayConfiguration) {
        configuration.http.limits.body = .kibibytes(4)
        configuration.http.limits.bodiesInFlight = .kibibytes(4)
    }

    private func expectOverload(_ gateway: RunningGateway, _ request: String) async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            try await connection.send(request)
            let answer = try await connection.answer()
            #expect(answer?.status == 503)
            #expect(answer?.headers["retry-after"] == "1")
        }
    }

    /// Expects one problem response, and the end of the connection.
    private func expectRefusal(
        of request: String, status: Int, code: String, logged: Bool = false,
        _ change: (inout GatewayConfiguration) -> Void = { _ in }
    ) async throws {
        try await RunningGateway.with(change) { gateway in
            try await RawConnection.with(port: gateway.port) { connection in
                if !request.isEmpty { try await connection.send(request) }
                let answer = try await connection.answer()
                #expect(answer?.status == status)
                #expect(answer?.headers["content-type"] == "application/problem+json")
                #expect(answer?.headers["connection"] == "close")
                #expect(answer?.body.contains(#""code":"\#(code)""#) == true)
                #expect(try await connection.isClosed())
            }
            if logged { #expect(gateway.log.containing(#""problem":"\#(code)""#).count == 1) }
            try await eventually { gateway.server.bodyBudget.reserved == 0 }
        }
    }
}

/// Lends a value to one task at a time.
struct UncheckedBox<Value>: @unchecked Sendable {
    let value: Value

    /// The lender must not use the value meanwhile, except for parts that do not conflict.
    init(_ value: Value) {
        self.value = value
    }
}
