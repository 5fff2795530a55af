// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import ReceiptForge
import Testing

@testable import AppleSimulator

/// The faults as a client sees them.
struct WireTests {
    private static let body = Samples.body(Samples.receipt())

    /// Calls the production endpoint under this fault.
    private static func call(_ fault: String) async throws -> Exchange {
        try await exchange("faults: [{fault: \(fault)}]", body)
    }

    @Test func `a healthy server answers over HTTP`() async throws {
        let exchange = try await Self.call("none")
        #expect(exchange.status == 200 && !exchange.wasReset)
        #expect(exchange.values(of: "Content-Type") == ["application/json;charset=UTF-8"])
        #expect(try AppleAnswer(Data(exchange.body.utf8)).status == 0)
    }

    @Test func `verifyReceipt alone can refuse connections, for a time`() async throws {
        var configuration = AppleSimulator.Configuration(pki: Samples.pki)
        configuration.hasServerAPIPorts = true
        let apple = try await AppleSimulator.start(configuration)
        let verifyReceipt = Wire(apple.productionURL), serverAPI = Wire(apple.productionBaseURL)
        #expect(verifyReceipt.port != serverAPI.port)
        await apple.refuseVerifyReceipt()
        await #expect(throws: (any Error).self) { try await verifyReceipt.verify(Self.body) }
        #expect(try await serverAPI.ask("GET", "/inApps/v1/subscriptions/1").status == 401)
        try await apple.acceptVerifyReceipt()
        #expect(try await verifyReceipt.verify(Self.body).status == 200)
        await apple.stop()
    }

    @Test(arguments: [
        ("{http_status: 500}", 500), ("{http_status: 502}", 502), ("{http_status: 503}", 503),
        ("{http_status: 504}", 504), ("html", 200),
    ])
    func `a page comes in place of an answer`(fault: String, status: Int) async throws {
        let exchange = try await Self.call(fault)
        #expect(exchange.status == status && exchange.body.hasPrefix("<html>"))
    }

    @Test func `200 can have an empty body`() async throws {
        let exchange = try await Self.call("empty")
        #expect(exchange.status == 200 && exchange.body.isEmpty)
        #expect(exchange.values(of: "Content-Length") == ["0"])
    }

    @Test func `JSON can be truncated in a complete HTTP body`() async throws {
        let exchange = try await Self.call("truncated")
        #expect(exchange.values(of: "Content-Length") == [String(exchange.body.utf8.count)])
        #expect(exchange.body.hasPrefix("{\"status\":0,") && !exchange.wasReset)
        #expect(throws: (any Error).self) { try AppleAnswer(Data(exchange.body.utf8)) }
    }

    @Test func `a connection can be reset in the middle of the body`() async throws {
        let exchange = try await Self.call("reset_mid_body")
        let length = try #require(exchange.values(of: "Content-Length").first.flatMap { Int($0) })
        #expect(exchange.wasReset && exchange.body.utf8.count == length / 2)
    }

    @Test func `a connection can be reset before the answer`() async throws {
        let exchange = try await Self.call("reset")
        #expect(exchange.wasReset && exchange.text.isEmpty)
    }

    @Test func `a slow body arrives complete`() async throws {
        let exchange = try await Self.call("{slow_body: 100000}")
        #expect(try AppleAnswer(Data(exchange.body.utf8)).status == 0)
    }

    // 16 bytes at 200 a second take 80 milliseconds.
    @Test(arguments: [("{fault: {slow_body: 200}}", 80), ("{latency: 0.05}", 50)])
    func `a slow body and a latency take their time`(phase: String, milliseconds: Int) async throws {
        let duration = try await ContinuousClock().measure { _ = try await exchange("faults: [\(phase)]", "{}") }
        #expect(duration >= .milliseconds(milliseconds))
    }

    @Test func `a call without an answer is in flight until its client disconnects`() async throws {
        try await withApple("faults: [{fault: no_answer}]") { apple in
            let (channel, exchange) = try await Wire(apple.productionURL).open()
            let request = "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
            try await channel.writeAndFlush(ByteBuffer(string: request))
            let control = Wire(apple.sandboxURL)
            while apple.statsDetails.inFlight == 0 { _ = try await control.ask("GET", "/stats") }
            try await channel.close()
            #expect(try await exchange.get().text.isEmpty)
            while apple.statsDetails.inFlight > 0 { _ = try await control.ask("GET", "/stats") }
            #expect(apple.statsDetails.maximumInFlight == 1 && apple.stats.production == 1)
        }
    }

    @Test func `Retry-After counts milliseconds since 1970`() async throws {
        let exchange = try await Self.call("{throttled: 5000}")
        #expect(exchange.status == 429)
        #expect(exchange.values(of: "Retry-After") == ["1782907205000"])
    }

    @Test func `headers are spelled as in the scenario`() async throws {
        let yaml = """
            faults:
              - headers:
                  Sunset: Sat, 31 Dec 2026 23:59:59 GMT
                  DEPRECATION: ["@1688169599", "true"]
                  Link: <https://developer.apple.com/documentation>; rel="deprecation"
                fault: {http_status: 503}
            """
        let exchange = try await exchange(yaml, Self.body)
        #expect(exchange.status == 503)
        #expect(exchange.values(of: "Sunset") == ["Sat, 31 Dec 2026 23:59:59 GMT"])
        #expect(exchange.values(of: "DEPRECATION") == ["@1688169599", "true"])
        #expect(exchange.values(of: "Link") == ["<https://developer.apple.com/documentation>; rel=\"deprecation\""])
    }

    @Test func `one connection carries one call after another`() async throws {
        let request = "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
        try await withApple { apple in
            let last = request.replacing("Host: a", with: "Connection: close")
            let exchange = try await Wire(apple.productionURL).exchange(request + request + last)
            #expect(exchange.text.matches(of: /HTTP\/1.1 200 OK/).count == 3)
            let keys = exchange.text.matches(of: /x-apple-jingle-correlation-key: ([A-Z2-7]{26})\r\n/).map(\.output.1)
            #expect(Set(keys).count == 3)
            #expect(apple.stats.production == 3 && apple.statsDetails.connections == 1)
        }
    }

    @Test func `a client that expects 100 Continue receives it`() async throws {
        try await withApple { apple in
            let exchange = try await Wire(apple.productionURL).exchange(
                "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\n"
                    + "Content-Length: 2\r\n\r\n{}")
            #expect(exchange.text.hasPrefix("HTTP/1.1 100 Continue\r\n"))
            #expect(exchange.text.contains("HTTP/1.1 200 OK"))
        }
    }

    @Test func `a body over the limit is refused`() async throws {
        try await withApple { apple in
            let limit = SimulatorLimits().maximumRequestBytes
            let wire = Wire(apple.productionURL)
            let largest = try await wire.verify(String(repeating: " ", count: limit))
            let larger = try await wire.verify(String(repeating: " ", count: limit + 1))
            #expect(largest.status == 200 && larger.status == 413)
        }
    }
}

struct TLSTests {
    private static let authority = TLSAuthority(seed: 9)
    private static let identity = authority.identity(forHosts: ["localhost", "127.0.0.1"])

    @Test func `a client that trusts the authority can use HTTPS`() async throws {
        try await withApple(tls: Self.identity) { apple in
            #expect(apple.productionURL.hasPrefix("https://127.0.0.1:"))
            let wire = Wire(apple.sandboxURL, trusting: Self.authority.certificate)
            let exchange = try await wire.verify("{}")
            #expect(exchange.status == 200)
        }
    }

    @Test func `a wrong certificate is used for as many connections as in the scenario`() async throws {
        try await withApple("faults: [{fault: tls, requests: 2, endpoint: production}]", tls: Self.identity) { apple in
            let wire = Wire(apple.productionURL, trusting: Self.authority.certificate)
            for _ in 0..<2 {
                await #expect(throws: (any Error).self) { try await wire.verify("{}") }
            }
            let exchange = try await wire.verify("{}")
            #expect(exchange.status == 200)
            #expect(apple.statsDetails.wrongCertificates == 2 && apple.stats.production == 1)
        }
    }

    @Test func `without TLS a wrong certificate is a reset`() async throws {
        let exchange = try await exchange("faults: [{fault: tls}]", "{}")
        #expect(exchange.wasReset)
    }

    @Test func `an invalid identity is refused`() async throws {
        var configuration = AppleSimulator.Configuration(pki: Samples.pki)
        configuration.tls = TLSIdentity(certificatePEM: Self.identity.certificatePEM, privateKeyPEM: "none")
        let refused = configuration
        await #expect(throws: SimulatorError.identityUnusable) { try await AppleSimulator.start(refused) }
    }

    @Test func `a port in use is named`() async throws {
        try await withApple { apple in
            var configuration = AppleSimulator.Configuration(pki: Samples.pki)
            configuration.sandboxPort = Wire(apple.sandboxURL).port
            let second = configuration
            let error = await #expect(throws: SimulatorError.self) { try await AppleSimulator.start(second) }
            #expect(error?.description.contains("port \(second.sandboxPort) ") == true)
        }
    }
}
