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

    private static func endpoint(_ key: String = WebhookSamples.key) throws -> WebhookEndpoint {
        WebhookEndpoint(
            name: "shop/crm", apps: [WebhookSamples.app], url: "https://crm.example.com/hooks",
            keys: [try WebhookKey(key)])
    }

    private static func run(
        _ reply: Result<WebhookReply, DeliveryFault>
    ) async throws -> (result: WebhookTestResult, text: String, sent: [WebhookRequest]) {
        let endpoint = try endpoint(), sender = OneReply(reply)
        let result = await WebhookTestResult(
            of: WebhookRequest(testing: endpoint, number: 7, at: SignedSamples.now), through: sender)
        return (result, result.text(for: endpoint), sender.sent.withLock(\.self))
    }

    @Test func `an endpoint that answers 2xx has accepted the one signed event`() async throws {
        let (result, text, sent) = try await Self.run(.success(WebhookReply(status: 204)))
        #expect(result.fault == nil && result.status == 204)
        #expect(text.hasPrefix("shop/crm accepted the test event: it answered 204 after ") && text.hasSuffix(" ms."))
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
        let (result, text, _) = try await Self.run(.success(WebhookReply(status: status)))
        #expect(result.fault == fault)
        #expect(text.hasPrefix("shop/crm answered \(status) after ") && text.contains(advice), "\(text)")
    }

    @Test(arguments: DeliveryFault.allCases)
    func `an endpoint without an answer has advice`(fault: DeliveryFault) async throws {
        let text = try await Self.run(.failure(fault)).text
        #expect(text.hasPrefix("shop/crm did not answer after ") && text.contains("(\(fault.rawValue)).\n"))
        #expect(text.hasSuffix(fault.advice) && fault.advice.hasSuffix("."))
    }

    @Test func `the public key of a key that only the gateway has is shown for the receiver`() throws {
        // RFC 8032 §7.1, test 1.
        let seed = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=",
            publicKey = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
        let result = WebhookTestResult(status: 500, fault: .failed, took: .milliseconds(1))
        let text = result.text(for: try Self.endpoint("whsk_\(seed)"))
        #expect(
            text.contains(DeliveryFault.failed.advice)
                && text.hasSuffix("\nIts signatures v1a are checked with whpk_\(publicKey)"))
    }
}
