// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

@Suite("Limits for one address", .timeLimit(.patient))
struct SourceLimitsTests {
    private var gateway: RunningGateway { .current }

    // MARK: - Values

    @Test func `a source's limit does not affect other sources`() throws {
        let one = try #require(NetworkAddress("192.0.2.1")).source
        let other = try #require(NetworkAddress("192.0.2.2")).source
        let counts = SourceCounts(maximum: 2)
        let taken = [counts.acquire(one), counts.acquire(one), counts.acquire(one), counts.acquire(other)]
        #expect(taken == [true, true, false, true] && counts.sources == 2)
        counts.release(one)
        let (again, oneMore) = (counts.acquire(one), counts.acquire(one))
        #expect(again && !oneMore)
        for source in [one, one, one, other] { counts.release(source) }
        #expect(counts.sources == 0)
    }

    @Test func `the limits are a quarter of all connections unless set`() {
        var limits = HTTPLimits()
        #expect(limits.connectionsOfOneAddress == 1024 && limits.requestsOfOneAddress == 1024)
        limits.connections = 3
        #expect(limits.connectionsOfOneAddress == 1 && limits.requestsOfOneAddress == 1)
        (limits.connectionsPerAddress, limits.requestsPerAddress) = (7, 9)
        #expect(limits.connectionsOfOneAddress == 7 && limits.requestsOfOneAddress == 9)
    }

    @Test func `a request behind a proxy counts once for the address it names, until it ends`() throws {
        var limits = HTTPLimits()
        limits.requestsPerAddress = 1
        let sources = SourceLimits(limits, try Self.trusting("10.0.0.0/8"))
        let source = sources.source(of: NetworkAddress("10.0.0.1"))
        let header = try Self.header(for: "203.0.113.7"), other = try Self.header(for: "203.0.113.8")
        var requests = try (0..<3).map { _ in try #require(ForwardedRequest(source, sources)) }
        let begun = [requests[0].begin(header), requests[1].begin(header), requests[2].begin(other)]
        #expect(begun == [true, false, true])
        requests[1].end()
        #expect(sources.requests.sources == 2, "what holds nothing gives nothing back")
        requests[0].end()
        requests[0].end()
        let isFree = requests[1].begin(header)
        #expect(isFree)
        for index in requests.indices { requests[index].end() }
        #expect(sources.requests.sources == 0)
    }

    @Test(arguments: ["", "10.0.0.2", "unknown", "not an address"])
    func `a proxy that names no other address has no limit`(forwarded: String) throws {
        var limits = HTTPLimits()
        (limits.requestsPerAddress, limits.connectionsPerAddress) = (1, 1)
        let sources = SourceLimits(limits, try Self.trusting("10.0.0.0/8"))
        for _ in 0..<3 {
            let source = sources.source(of: NetworkAddress("10.0.0.1"))
            var request = try #require(ForwardedRequest(source, sources))
            let header = try Self.header(for: forwarded)
            let isServed = request.begin(header)
            #expect(isServed)
        }
        #expect(sources.connections.sources == 0 && sources.requests.sources == 0)
    }

    @Test func `a peer that is not a proxy cannot name another address`() throws {
        let sources = SourceLimits(HTTPLimits(), try Self.trusting("10.0.0.0/8"))
        #expect(ForwardedRequest(sources.source(of: NetworkAddress("192.0.2.1")), sources) == nil)
        #expect(ForwardedRequest(sources.source(of: nil), sources) == nil)
    }

    // MARK: - Connections

    @Test(.gateway { $0.http.limits.connections = 8 })
    func `connections beyond the limit of their address are closed at once, and counted`() async throws {
        try await RawConnection.with(port: gateway.port) { first in
            try await Self.expectAnswer(first)
            try await RawConnection.with(port: gateway.port) { second in
                try await Self.expectAnswer(second)
                try await Self.expectNoPlace(gateway)
                try await Self.expectNoPlace(gateway)
                try await RawConnection.with(port: gateway.port, from: "127.0.0.2") { other in
                    try await Self.expectAnswer(other)
                }
                try await Self.expectAnswer(second)
            }
        }
        let refused = gateway.server.metrics.counter(MetricCatalogue.connectionsRefused)
        #expect(refused.value == 2)
        let connections = gateway.server.metrics.gauge(MetricCatalogue.connections)
        try await eventually { connections.value == 0 }
        try await RawConnection.with(port: gateway.port) { try await Self.expectAnswer($0) }
    }

    @Test func `a trusted proxy may hold any number of connections`() async throws {
        try await Self.withTrustedProxy({ $0.connections = 8 }) { gateway in
            try await Self.holding(6, port: gateway.port) {
                try await RawConnection.with(port: gateway.port) { try await Self.expectAnswer($0) }
            }
        }
    }

    @Test func `requests that a proxy sends for one address are limited, and those for others are served`() async throws
    {
        try await Self.withTrustedProxy({ $0.requestsPerAddress = 1 }) { gateway in
            try await RawConnection.with(port: gateway.port) { first in
                try await first.send(Self.head(for: "203.0.113.7") + "{")
                try await eventually { gateway.server.bodyBudget.reserved == 1 }
                let refusal = try await Self.answer(gateway, for: "203.0.113.7")
                #expect(refusal?.status == 429 && refusal?.headers["retry-after"] == "1")
                #expect(refusal?.headers["content-type"] == "application/problem+json")
                #expect(refusal?.body.contains(#""code":"quota_exceeded""#) == true)
                #expect(try await Self.answer(gateway, for: "203.0.113.8")?.status == 200)
                #expect(try await Self.answer(gateway, for: "203.0.113.7, 203.0.113.9")?.status == 200)
                try await first.send(String(Self.body.dropFirst()))
                #expect(try await first.answer()?.status == 200)
                #expect(try await Self.answer(gateway, for: "203.0.113.7")?.status == 200)
            }
            let refusals = gateway.server.metrics.counter(MetricCatalogue.refusals, ["too_many_of_address"])
            #expect(refusals.value == 1)
        }
    }

    @Test func `a request whose connection breaks off releases its slot`() async throws {
        try await Self.withTrustedProxy({ $0.requestsPerAddress = 1 }) { gateway in
            try await RawConnection.with(port: gateway.port) { first in
                try await first.send(Self.head(for: "203.0.113.7") + "{")
                try await eventually { gateway.server.bodyBudget.reserved == 1 }
            }
            try await eventually { gateway.server.bodyBudget.reserved == 0 }
            #expect(try await Self.answer(gateway, for: "203.0.113.7")?.status == 200)
        }
    }

    // MARK: - Steps

    private static let body = #"{"receipt":"AQID"}"#

    private static func head(for address: String) -> String {
        "POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 18\r\n"
            + "X-Forwarded-For: \(address)\r\n\r\n"
    }

    private static func answer(_ gateway: RunningGateway, for address: String) async throws -> RawAnswer? {
        try await gateway.send(head(for: address) + body)
    }

    private static func expectAnswer(_ connection: RawConnection) async throws {
        try await connection.send("GET /nope HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try await connection.answer()?.status == 404)
    }

    private static func expectNoPlace(_ gateway: RunningGateway) async throws {
        let isClosed = try await RawConnection.with(port: gateway.port) { try await $0.isClosed() }
        #expect(isClosed)
    }

    /// Holds so many open connections around `body`.
    private static func holding(_ count: Int, port: Int, _ body: () async throws -> Void) async throws {
        guard count > 0 else { return try await body() }
        try await RawConnection.with(port: port) { connection in
            try await expectAnswer(connection)
            try await holding(count - 1, port: port, body)
        }
    }

    /// Runs a gateway that trusts the addresses that connections from this machine name.
    private static func withTrustedProxy(
        _ limits: (inout HTTPLimits) -> Void, _ body: (RunningGateway) async throws -> Void
    ) async throws {
        let rule = try trusting("127.0.0.1")
        try await RunningGateway.with {
            $0.http.remoteAddresses = rule
            limits(&$0.http.limits)
        } _: {
            try await body($0)
        }
    }

    private static func trusting(_ range: String) throws -> RemoteAddressRule {
        var rule = RemoteAddressRule()
        rule.trustedProxies = try AddressRanges(configuration: range)
        return rule
    }

    private static func header(for address: String) throws -> RequestHeader {
        try .forTests(["Host": "localhost", "X-Forwarded-For": address])
    }
}
