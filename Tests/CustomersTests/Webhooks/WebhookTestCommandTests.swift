// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import Customers
@testable import Server
@testable import ServerTestSupport

/// `webhook test`.
struct WebhookTestCommandTests {
    /// A sender with one reply, which keeps the request.
    private final class OneReply: WebhookSender {
        let sent = Mutex<[WebhookRequest]>([])
        private let reply: Result<WebhookReply, DeliveryFault>

        init(_ reply: Result<WebhookReply, DeliveryFault>) { self.reply = reply }

        func send(_ request: WebhookRequest) async throws(DeliveryFault) -> WebhookReply {
            sent.withLock { $0.append(request) }
            return try reply.get()
        }
    }

    private static func run(
        _ reply: Result<WebhookReply, DeliveryFault>
    ) async throws -> (WebhookTestResult, [WebhookRequest]) {
        let key = try WebhookKey(WebhookSamples.key)
        let endpoint = WebhookEndpoint(
            name: "shop/crm", apps: [WebhookSamples.app], url: "https://crm.example.com/hooks", keys: [key])
        let sender = OneReply(reply)
        let result = await WebhookTestResult(
            of: WebhookRequest(testing: endpoint, number: 7, at: SignedSamples.now), through: sender)
        return (result, sender.sent.withLock(\.self))
    }

    @Test func `an endpoint that answers 2xx has accepted the one signed event`() async throws {
        let (result, sent) = try await Self.run(.success(WebhookReply(status: 204)))
        #expect(result.fault == nil && result.status == 204)
        #expect(result.text(for: "shop/crm").hasPrefix("shop/crm accepted the test event: it answered 204 after "))
        let request = try #require(sent.first)
        #expect(sent.count == 1 && request.url == "https://crm.example.com/hooks")
        #expect(request.headers.contains { $0.name == "webhook-signature" && $0.value.hasPrefix("v1,") })
    }

    @Test(
        arguments: [
            (401, .rejected, "key"), (410, .gone, "operator"), (307, .redirect, "final URL"), (500, .failed, "log"),
            (503, .overloaded, "capacity"),
        ] as [(Int, DeliveryFault, String)])
    func `another status is a fault with advice`(status: Int, fault: DeliveryFault, advice: String) async throws {
        let (result, _) = try await Self.run(.success(WebhookReply(status: status)))
        #expect(result.fault == fault)
        let text = result.text(for: "shop/crm")
        #expect(text.hasPrefix("shop/crm answered \(status) after ") && text.contains(advice), "\(text)")
    }

    @Test(arguments: DeliveryFault.allCases)
    func `an endpoint without an answer has advice`(fault: DeliveryFault) async throws {
        let (result, _) = try await Self.run(.failure(fault))
        let text = result.text(for: "shop/crm")
        #expect(text.hasPrefix("shop/crm did not answer after ") && text.contains("(\(fault.rawValue)).\n"))
        #expect(text.hasSuffix(fault.advice) && fault.advice.hasSuffix("."))
    }
}
