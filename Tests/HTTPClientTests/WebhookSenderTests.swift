// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPClient
import LoopbackPorts
import ReceiptForge
import Synchronization
import Testing
import TestSupport

@testable import Customers

/// Webhooks to real endpoints, sound and faulty.
@Suite("Sending webhooks", .timeLimit(.patient))
struct WebhookSenderTests {
    // MARK: - Requests

    @Test func `the body and the headers arrive as they are`() async throws {
        let received = Mutex<[ReceivedRequest]>([])
        try await ScriptedServer.with(tls: Authorities.localhost) { request in
            received.withLock { $0.append(request) }
            return [.answer(204)]
        } _: { server in
            try await Self.withSender { sender in
                let reply = try await sender.send(Self.request(server.url("/hooks?key=1")))
                #expect(reply == WebhookReply(status: 204))
            }
        }
        let request = try #require(received.withLock { $0.first })
        #expect(request.requestLine == "POST /hooks?key=1 HTTP/1.1")
        #expect(request.body == Array(#"{"id":"evt_1"}"#.utf8))
        #expect(request.value(of: "webhook-id") == "evt_1")
        #expect(request.value(of: "content-type") == "application/json")
    }

    @Test func `a connection is kept for the next event`() async throws {
        try await ScriptedServer.with(tls: Authorities.localhost) { _ in
            [.answer(200)]
        } _: { server in
            try await Self.withSender { sender in
                for _ in 1...3 { _ = try await sender.send(Self.request(server.url())) }
                #expect(server.count(of: .accepted) == 1 && server.count(of: .request) == 3)
            }
        }
    }

    // MARK: - Answers

    @Test(arguments: [200, 202, 204, 299, 304, 400, 410, 429, 500, 503, 600])
    func `a reply has the status, whatever it is`(_ status: Int) async throws {
        try await ScriptedServer.with { _ in
            [.answer(status, [204, 304].contains(status) ? "" : "thank you")]
        } _: { server in
            try await Self.withSender { sender in
                let reply = try await sender.send(Self.request(server.url()))
                #expect(reply == WebhookReply(status: status))
            }
        }
    }

    @Test func `a redirect is not followed`() async throws {
        try await ScriptedServer.with { _ in
            [.answer(307, headers: ["Location: /elsewhere"])]
        } _: { server in
            try await Self.withSender { sender in
                let reply = try await sender.send(Self.request(server.url()))
                #expect(reply.status == 307)
                #expect(server.count(of: .request) == 1)
            }
        }
    }

    @Test(
        arguments: [
            ("120", .seconds(120)), ("0", nil), ("-5", nil), ("soon", nil), ("", nil),
            ("Sun, 06 Nov 1994 08:49:37 GMT", nil),
        ] as [(String, Duration?)])
    func `an endpoint that wants less may name the time`(_ value: String, _ wait: Duration?) async throws {
        let found = try await Self.retryAfter(value)
        #expect(found == wait)
    }

    @Test func `the time may be a date`() async throws {
        let wait = try #require(try await Self.retryAfter("Fri, 31 Dec 2088 23:59:59 GMT"))
        #expect(wait > .seconds(86_400))
    }

    private static func retryAfter(_ value: String) async throws -> Duration? {
        let reply = Mutex<WebhookReply?>(nil)
        try await ScriptedServer.with { _ in
            [.answer(503, headers: ["Retry-After: \(value)"])]
        } _: { server in
            try await withSender { sender in
                let answer = try await sender.send(request(server.url()))
                reply.withLock { $0 = answer }
            }
        }
        let answer = try #require(reply.withLock { $0 })
        #expect(answer.status == 503)
        return answer.retryAfter
    }

    // MARK: - Faults

    struct FaultyEndpoint: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [ScriptedServer.Step]
        let fault: DeliveryFault

        init(_ description: String, _ steps: [ScriptedServer.Step], _ fault: DeliveryFault) {
            (testDescription, self.steps, self.fault) = (description, steps, fault)
        }
    }

    private static func start(_ length: Int) -> ScriptedServer.Step {
        .send("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n")
    }
    private static let surplus = String(repeating: "x", count: HTTPWebhookSender.Limits.responseBytes + 1)
    private static let faultyEndpoints = [
        FaultyEndpoint("closes before the answer", [.close], .reset),
        FaultyEndpoint("closes in the body", [start(10), .send("hello"), .close], .reset),
        FaultyEndpoint("resets", [.reset], .reset),
        FaultyEndpoint("no HTTP", [.send("220 mail.example ESMTP\r\n"), .close], .reset),
        FaultyEndpoint("a huge body", [start(surplus.utf8.count), .send(surplus)], .failed),
        FaultyEndpoint("claims a huge body", [start(1 << 40), .hold], .failed),
        FaultyEndpoint(
            "an endless body",
            [
                .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
                .send("\(String(surplus.utf8.count, radix: 16))\r\n\(surplus)\r\n"), .hold,
            ], .failed),
        FaultyEndpoint(
            "a huge header", [.send("HTTP/1.1 200 OK\r\nA: \(surplus)\r\nB: \(surplus)\r\n\r\n"), .hold], .failed),
    ]

    @Test(arguments: faultyEndpoints)
    func `a faulty endpoint has its fault, and the sender goes on`(_ endpoint: FaultyEndpoint) async throws {
        try await ScriptedServer.with { request in
            request.requestLine.contains("/good") ? [.answer(200)] : endpoint.steps
        } _: { server in
            try await Self.withSender { sender in
                await #expect(throws: endpoint.fault) { try await sender.send(Self.request(server.url("/bad"))) }
                let reply = try await sender.send(Self.request(server.url("/good")))
                #expect(reply.status == 200)
            }
        }
    }

    @Test func `an endpoint that does not answer ends at the timeout`() async throws {
        try await ScriptedServer.with { _ in
            [.hold]
        } _: { server in
            try await Self.withSender(timeout: .milliseconds(50)) { sender in
                await #expect(throws: DeliveryFault.timeout) { try await sender.send(Self.request(server.url())) }
            }
        }
    }

    @Test func `an endpoint that holds all its attempts delays no other, even on the same host`() async throws {
        let gate = Gate()
        try await ScriptedServer.with { request in
            request.requestLine.contains("/slow") ? [.wait(gate), .answer(200)] : [.answer(200)]
        } _: { server in
            try await Self.withSender(endpoints: 2, concurrency: 4) { sender in
                try await withThrowingTaskGroup { group in
                    for _ in 1...4 {
                        group.addTask { _ = try await sender.send(Self.request(server.url("/slow"))) }
                    }
                    await server.saw(.request, times: 4)
                    let fast = try await sender.send(Self.request(server.url("/fast")))
                    #expect(fast.status == 200)
                    gate.open()
                    try await group.waitForAll()
                }
            }
        }
    }

    // MARK: - Security

    @Test(arguments: [true, false])
    func `an untrusted certificate gets no event`(isExpired: Bool) async throws {
        let identity =
            isExpired
            ? Authorities.trusted.expiredIdentity(forHosts: ["localhost"])
            : Authorities.unknown.identity(forHosts: ["localhost"])
        try await ScriptedServer.with(tls: identity) { _ in
            [.answer(200)]
        } _: { server in
            try await Self.withSender { sender in
                await #expect(throws: DeliveryFault.tls) { try await sender.send(Self.request(server.url())) }
            }
            #expect(server.count(of: .request) == 0)
        }
    }

    @Test(arguments: ["localhost", "127.0.0.1", "[::1]"])
    func `a private address gets no connection, also behind a name`(_ host: String) async throws {
        try await ScriptedServer.with { _ in
            [.answer(200)]
        } _: { server in
            try await Self.withSender({ $0.allowsPrivateAddresses = false }) { sender in
                await #expect(throws: DeliveryFault.forbiddenAddress) {
                    try await sender.send(Self.request(server.url(host: host)))
                }
            }
            #expect(server.count(of: .accepted) == 0)
        }
    }

    @Test(arguments: ["http://localhost/", "ftp://localhost/", "nonsense", "https://user:key@localhost/"])
    func `a URL that is not permitted is one fault`(_ url: String) async throws {
        try await Self.withSender({ $0.allowsPlainHTTP = false }) { sender in
            await #expect(throws: DeliveryFault.invalidURL) { try await sender.send(Self.request(url)) }
        }
    }

    @Test func `a name without an address, and a port without a listener`() async throws {
        let reserved = try ReservedPort()
        try await Self.withSender { sender in
            await #expect(throws: DeliveryFault.resolve) {
                try await sender.send(Self.request("https://nothing.invalid/"))
            }
            await #expect(throws: DeliveryFault.connect) {
                try await sender.send(Self.request("http://127.0.0.1:\(reserved.number)/"))
            }
        }
    }

    @Test func `after the shutdown nothing is sent`() async throws {
        try await Self.withSender { sender in
            await sender.shutdown()
            await #expect(throws: DeliveryFault.local) { try await sender.send(Self.request("http://localhost/")) }
        }
    }

    // MARK: - Support

    private static func request(_ url: String) -> WebhookRequest {
        WebhookRequest(
            url: url, headers: [("content-type", "application/json"), ("webhook-id", "evt_1")],
            body: Array(#"{"id":"evt_1"}"#.utf8))
    }

    /// Runs `body` with a sender that trusts the test's authority, may connect to this machine, and has a timeout that no
    /// test reaches by accident.
    private static func withSender(
        _ change: (inout TransportConfiguration) -> Void = { _ in }, endpoints: Int = 4, concurrency: Int = 4,
        timeout: Duration = .seconds(3600), isolation: isolated (any Actor)? = #isolation,
        _ body: (HTTPWebhookSender) async throws -> Void
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).pem")
        try Authorities.trusted.certificatePEM.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        var configuration = TransportConfiguration()
        configuration.caFile = file.path
        (configuration.allowsPlainHTTP, configuration.allowsPrivateAddresses) = (true, true)
        change(&configuration)
        let sender = try HTTPWebhookSender(
            configuration, maximumEndpoints: endpoints, concurrency: concurrency, timeout: timeout)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(sender)) } catch { outcome = .failure(error) }
        await sender.shutdown()
        try outcome.get()
    }
}
