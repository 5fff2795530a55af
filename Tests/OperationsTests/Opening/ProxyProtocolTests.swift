// SPDX-License-Identifier: Apache-2.0

import RealServers
import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

@Suite("Behind load balancers that speak the PROXY protocol", .timeLimit(.patient))
struct ProxyProtocolTests {
    private static let probe = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test func `behind HAProxy each client has its own limit, and health checks have an answer`() async throws {
        let ranges = try AddressRanges(configuration: RealServer.namingAddress)
        try await RunningGateway.with({ configuration in
            configuration.http.proxyProtocolAddresses = ranges
            configuration.http.limits.connectionsPerAddress = 1
        }) { gateway in
            let proxy = try await RealServer.haproxyNamingClients(
                to: .init(dataPort: gateway.port, adminPort: gateway.adminPort))
            try await RawConnection.with(port: proxy.port, from: "127.0.0.2") { connection in
                try await connection.send(Self.probe)
                #expect(try await connection.answer()?.status == 200)
                try await RawConnection.with(port: proxy.port, from: "127.0.0.2") { second in
                    let isClosed = try await second.isClosed()
                    #expect(isClosed)
                }
                try await RawConnection.with(port: proxy.port, from: "127.0.0.3") { other in
                    try await other.send(Self.probe)
                    #expect(try await other.answer()?.status == 200)
                }
            }
            #expect(!gateway.server.metrics.text().contains(#"{cause="proxy_header"} 1"#))
        }
    }

    @Test func `a trusted address without a header gets no answer, and others need none`() async throws {
        let ranges = try AddressRanges(configuration: "127.0.0.9")
        try await RunningGateway.with({ $0.http.proxyProtocolAddresses = ranges }) { gateway in
            try await RawConnection.with(port: gateway.port, from: "127.0.0.9") { connection in
                try await connection.send(Self.probe)
                #expect(try await connection.isClosed())
            }
            let failures = #"receipt_gateway_http_opening_failures_total{cause="proxy_header"} 1"#
            #expect(gateway.server.metrics.text().contains(failures))
            #expect(try await gateway.ask("GET /readyz")?.status == 200)
            // A header from elsewhere is no request.
            #expect(try await gateway.send("\r\n\r\n\0\r\nQUIT\n")?.status == 400)
        }
    }

    @Test func `the header and the first request may come in one piece, or byte by byte`() async throws {
        let ranges = try AddressRanges(configuration: "127.0.0.1")
        let header = String(decoding: ProxyHeader.signature + [0x20, 0, 0, 0], as: UTF8.self)
        try await RunningGateway.with({ $0.http.proxyProtocolAddresses = ranges }) { gateway in
            #expect(try await gateway.send(header + Self.probe)?.status == 200)
            try await RawConnection.with(port: gateway.port) { connection in
                for scalar in header.unicodeScalars { try await connection.send(String(scalar)) }
                try await connection.send(Self.probe)
                #expect(try await connection.answer()?.status == 200)
            }
        }
    }
}
