// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import TestSupport

@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings

@Suite("Stopping", .timeLimit(.patient))
struct DrainTests {
    private var gateway: RunningGateway { .current }
    private static let ready = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
    private static let head =
        "POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n"
    private static let body = #"{"receipt":"AQID"}"#

    @Test(.gateway) func `a ready gateway reports ready`() async throws {
        let readiness = try await gateway.send(Self.ready, port: gateway.adminPort)
        #expect(readiness?.body == #"{"status":"ready"}"#)
        let liveness = try await gateway.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", port: gateway.adminPort)
        #expect(liveness?.status == 200)
        try await RawConnection.with(port: gateway.adminPort) { connection in
            try await connection.send(Self.ready.replacing("GET", with: "HEAD"))
            let answer = try await connection.answer(toHead: true)
            #expect(answer?.status == 200)
            #expect(answer?.headers["content-length"] == "18")
            try await connection.send(Self.ready)
            #expect(try await connection.answer()?.status == 200, "a body after HEAD would be read as an answer")
        }
    }

    @Test func `the share of answers that end their connections rises to all within half of the drain delay`() {
        let lifecycle = ServerLifecycle(), start = NIODeadline.uptimeNanoseconds(1_000_000_000)
        #expect(!lifecycle.endsConnection(at: start, draw: 0))
        lifecycle.drain(over: .seconds(8), at: start)
        for (milliseconds, draw, ends) in [
            (0, 0, false), (1000, 0.24, true), (1000, 0.26, false), (3999, 0.99, true), (4000, 0.9999, true),
            (60_000, 0.9999, true),
        ] as [(Int64, Double, Bool)] {
            #expect(lifecycle.endsConnection(at: start + .milliseconds(milliseconds), draw: draw) == ends)
        }
    }

    @Test func `without a delay every answer ends its connection, and draining begins once`() {
        let lifecycle = ServerLifecycle(), start = NIODeadline.uptimeNanoseconds(1_000_000_000)
        lifecycle.drain(over: .zero, at: start)
        lifecycle.drain(over: .seconds(8), at: start)
        #expect(lifecycle.endsConnection(at: start, draw: 0.9999) && !lifecycle.drainsSlowly)
    }

    @Test(.gateway { $0.shutdown.drainDelay = .seconds(3600) })
    func `an idle connection is answered once more after the drain delay`() async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            try await connection.send(Self.head + Self.body)
            #expect(try await connection.answer()?.headers["connection"] == nil)
            gateway.order(.terminate)
            try await eventually { gateway.server.lifecycle.stage == .draining }
            // The second request ends the delay.
            gateway.order(.terminate)
            try await refusesConnections(gateway.port)
            try await connection.send(Self.head + Self.body)
            let answer = try await connection.answer()
            #expect(answer?.status == 200 && answer?.headers["connection"] == "close")
            #expect(try await connection.isClosed())
        }
    }

    @Test(.gateway { $0.shutdown.drainDelay = .seconds(3600) })
    func `during the drain delay readyz fails while requests are answered`() async throws {
        gateway.order(.terminate)
        try await eventually { gateway.server.lifecycle.stage == .draining }
        let readiness = try await gateway.send(Self.ready, port: gateway.adminPort)
        #expect(readiness?.status == 503)
        #expect(readiness?.headers["retry-after"] == "1")
        let answer = try await gateway.send(Self.head + Self.body)
        #expect(answer?.status == 200)
    }

    @Test(.gateway) func `a request that has begun is finished after the listener is closed`() async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            try await connection.send(Self.head + "{")
            try await eventually { gateway.server.bodyBudget.reserved == 1 }
            gateway.order(.interrupt)
            try await refusesConnections(gateway.port)
            try await connection.send(String(Self.body.dropFirst()))
            let answer = try await connection.answer()
            #expect(answer?.status == 200)
            #expect(answer?.headers["connection"] == "close")
            #expect(try await connection.isClosed())
        }
    }

    @Test(.gateway { $0.shutdown.grace = .milliseconds(50) })
    func `the grace period ends a request that does not finish`() async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            try await connection.send(Self.head + "{")
            try await eventually { gateway.server.bodyBudget.reserved == 1 }
            gateway.order(.interrupt)
            #expect(try await connection.answer()?.status == 408)
            #expect(try await connection.isClosed())
        }
    }

    @Test(.gateway) func `an idle connection does not delay the shutdown`() async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            try await connection.send(Self.head + Self.body)
            #expect(try await connection.answer()?.status == 200)
            gateway.order(.interrupt)
            #expect(try await connection.isClosed())
        }
    }

    /// Waits until connections are refused.
    private func refusesConnections(_ port: Int) async throws {
        try await eventually {
            do { try await RawConnection.with(port: port) { _ in } } catch { return true }
            return false
        }
    }
}
