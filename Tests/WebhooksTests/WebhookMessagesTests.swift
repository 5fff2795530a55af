// SPDX-License-Identifier: Apache-2.0

import JSON
import Receipts
import Testing

@testable import Customers

struct WebhookMessagesTests {
    private let now = Timestamp(millisecondsSince1970: 1_614_265_330_900)

    private func event(_ originalTransactionID: String? = "7000") -> Event {
        Event(
            id: "evt_1", type: .subscriptionRenewed, bundleID: "com.example.app", environment: .production,
            originalTransactionID: originalTransactionID,
            occurredAt: Timestamp(millisecondsSince1970: 1_614_265_000_000),
            json: Array(#"{"id":"evt_1"}"#.utf8), signedData: Array(#"{"signed_transaction":"a.b.c"}"#.utf8))
    }

    private func endpoint(_ change: (inout WebhookEndpoint) -> Void = { _ in }) throws -> WebhookEndpoint {
        var endpoint = WebhookEndpoint(
            name: "shop/main", apps: ["com.example.app"], url: "https://example.com/hook",
            keys: [try WebhookKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")])
        change(&endpoint)
        return endpoint
    }

    private func lines(_ request: WebhookRequest) -> [String] {
        request.headers.map { "\($0.name): \($0.value)" } + [String(decoding: request.body, as: UTF8.self)]
    }

    @Test func `an event has the headers of Standard Webhooks and the attributes of CloudEvents`() throws {
        let request = WebhookMessages(to: try endpoint()).request(for: event(), followsGap: false, at: now)
        #expect(request.url == "https://example.com/hook")
        let signature = "v1,kV0dvnYaRxtNUaaimyZX8CewZdThUmZzP71eMGOenuY="
        #expect(
            lines(request) == [
                "content-type: application/json", "webhook-id: evt_1", "webhook-timestamp: 1614265330",
                "webhook-signature: \(signature)", "ce-specversion: 1.0", "ce-id: evt_1",
                "ce-type: subscription.renewed", "ce-source: /apps/com.example.app/Production",
                "ce-time: 2021-02-25T14:56:40Z", "ce-subject: 7000", #"{"id":"evt_1"}"#,
            ])
    }

    @Test func `an event about no purchase chain has no subject`() throws {
        let request = WebhookMessages(to: try endpoint()).request(for: event(nil), followsGap: false, at: now)
        #expect(!request.headers.contains { $0.name == "ce-subject" })
    }

    @Test func `the body has a gap's mark and signed data, and is signed with them`() throws {
        let messages = WebhookMessages(to: try endpoint { $0.includesSignedData = true })
        let request = messages.request(for: event(), followsGap: true, at: now)
        let body = #"{"id":"evt_1","gap":true,"signed_data":{"signed_transaction":"a.b.c"}}"#
        #expect(lines(request).last == body)
        let plain = WebhookMessages(to: try endpoint()).request(for: event(), followsGap: false, at: now)
        #expect(lines(request)[3] != lines(plain)[3])
    }

    @Test func `a relayed body is unchanged, without attributes, and signed only with keys`() throws {
        var relay = try endpoint { ($0.stream, $0.includesSignedData, $0.keys) = (.relay, true, []) }
        let unsigned = WebhookMessages(to: relay).request(for: event(), followsGap: true, at: now)
        let headers = ["content-type: application/json", "webhook-id: evt_1", "webhook-timestamp: 1614265330"]
        #expect(lines(unsigned) == headers + [#"{"id":"evt_1"}"#])
        relay.keys = try endpoint().keys
        let signed = WebhookMessages(to: relay).request(for: event(), followsGap: true, at: now)
        #expect(signed.headers.last?.name == "webhook-signature" && signed.headers.count == 4)
    }

    @Test func `the trace at the end of an event counts, and not at the end of a relayed body`() throws {
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        var traced = event()
        traced.json = Array(#"{"id":"evt_1","traceparent":"\#(trace)"}"#.utf8)
        let request = WebhookMessages(to: try endpoint()).request(for: traced, followsGap: false, at: now)
        #expect(request.traceparent == trace && request.headers.contains { $0 == ("ce-traceparent", trace) })
        let relay = WebhookMessages(to: try endpoint { $0.stream = .relay })
        #expect(relay.request(for: traced, followsGap: false, at: now).traceparent == nil)
    }

    @Test(
        arguments: [
            (200, nil), (299, nil), (100, .failed), (301, .redirect), (400, .rejected), (404, .rejected), (410, .gone),
            (429, .overloaded), (500, .failed), (502, .overloaded), (503, .overloaded), (504, .overloaded),
            (505, .failed),
            (600, .failed),
        ] as [(Int, DeliveryFault?)]) func `every status is a success or a fault`(status: Int, fault: DeliveryFault?)
    {
        #expect(DeliveryFault(status: status) == fault)
    }

    // MARK: - Test deliveries

    @Test func `a test event is signed and says that it is a test`() throws {
        let test = WebhookRequest(testing: try endpoint(), number: 42, at: now)
        #expect(test.headers.contains { $0 == ("webhook-id", "evt_test_42") })
        #expect(test.headers.contains { $0.name == "webhook-signature" })
        let body = String(decoding: test.body, as: UTF8.self)
        #expect(
            body.hasPrefix(#"{"id":"evt_test_42","type":"unknown","timestamp":"2021-02-25T15:02:10.900Z","data":{"#))
        #expect(body.contains(#""test":true"#))
    }
}
