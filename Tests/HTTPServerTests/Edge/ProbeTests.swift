// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

@Suite("Health checks on the data port", .timeLimit(.patient))
struct ProbeTests {
    private var gateway: RunningGateway { .current }

    /// The checks that load balancers send by default, and a check with a wrong key.
    @Test(arguments: [
        "GET / HTTP/1.0\r\n\r\n", "GET /readyz HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 10.0.0.7:8080\r\n\r\n", "GET /readyz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "GET /?check=1 HTTP/1.1\r\nHost:\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX-API-Key: wrong\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\n\r\n",
    ])
    func `a load balancer learns without a key that a node is ready, and nothing else`(check: String) async throws {
        let key = APIKey.random()
        try await RunningGateway.withClient(key, "apps: '*'", change: { $0.log.values.requests = .all }) { gateway in
            for _ in 1...3 {
                let answer = try await gateway.send(check)
                #expect(answer?.status == 200 && answer?.body == #"{"status":"ready"}"#)
                #expect(answer?.headers["connection"] == "close")
                let fields = ["connection", "content-length", "content-type", "date", "x-request-id"]
                #expect(answer?.headers.keys.allSatisfy(fields.contains) == true, "no version, no limits")
            }
            #expect(gateway.log.containing(#""message":"request""#).isEmpty)
            #expect(gateway.server.metrics.requestCount == 0)
            #expect(try await gateway.ask("GET /nope")?.status == 401)
            #expect(gateway.log.containing(#""message":"request""#).count == 1, "other requests are logged")
        }
    }

    @Test(.gateway) func `without a clients file any host may check, and nothing else`() async throws {
        for (target, status) in [("/", 200), ("/readyz", 200), ("/v1/status", 421), ("/livez", 421)] {
            let answer = try await gateway.send("GET \(target) HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            #expect(answer?.status == status, "\(target)")
        }
    }

    @Test(
        .gateway,
        arguments: ["HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", "HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"])
    func `a stranger gets one answer on a connection, and none to what follows`(check: String) async throws {
        try await RawConnection.with(port: gateway.port) { connection in
            try await connection.send(check + check)
            let answer = try await connection.answer(toHead: true)
            #expect(answer?.status == 200 && answer?.headers["connection"] == "close")
            #expect(try await connection.isClosed(), "no body, and no second answer")
        }
    }

    @Test(arguments: ["/", "/readyz"])
    func `a draining node fails its checks while it still serves`(path: String) async throws {
        try await RunningGateway.with({
            $0.shutdown.drainDelay = .seconds(3600)
            $0.log.values.requests = .all
        }) { gateway in
            gateway.order(.terminate)
            try await eventually { gateway.server.lifecycle.stage == .draining }
            let answer = try await gateway.send("GET \(path) HTTP/1.0\r\n\r\n")
            #expect(answer?.status == 503 && answer?.headers["connection"] == "close")
            #expect(answer?.body.contains(#""code":"not_ready""#) == true)
            #expect(try await gateway.ask("GET /v1/status")?.status == 200)
            #expect(gateway.log.containing(#""message":"request""#).count == 1, "the request for the status")
            #expect(gateway.server.metrics.requestCount == 1)
        }
    }

    @Test func `other methods need a key, and a check has no body`() async throws {
        let key = APIKey.random()
        try await RunningGateway.withClient(key, "apps: '*'") { gateway in
            #expect(try await gateway.ask("POST /", body: "{}")?.status == 401)
            let known = try await gateway.ask("POST /", ["X-API-Key: \(key.exposed)"], body: "{}")
            #expect(known?.status == 405 && known?.headers["allow"] == "GET, HEAD, OPTIONS")
            #expect(try await gateway.ask("GET /", body: "{}")?.status == 413)
            #expect(gateway.server.bodyBudget.reserved == 0)
        }
    }

    @Test func `a check is answered although its address has no slot left`() async throws {
        var addresses = RemoteAddressRule()
        addresses.trustedProxies = try AddressRanges(configuration: "127.0.0.1")
        try await RunningGateway.with({
            $0.http.limits.requestsPerAddress = 1
            $0.http.remoteAddresses = addresses
        }) { gateway in
            try await RawConnection.with(port: gateway.port) { held in
                let from = "X-Forwarded-For: 203.0.113.7"
                try await held.send("POST /v1/verify HTTP/1.1\r\nHost: x\r\n\(from)\r\nContent-Length: 2\r\n\r\n{")
                try await eventually { gateway.server.bodyBudget.reserved == 1 }
                #expect(try await gateway.ask("GET /v1/status", [from])?.status == 429)
                #expect(try await gateway.ask("GET /", [from])?.status == 200)
                #expect(try await gateway.ask("GET /v1/status", [from])?.status == 429, "a check frees no slot")
            }
        }
    }
}
