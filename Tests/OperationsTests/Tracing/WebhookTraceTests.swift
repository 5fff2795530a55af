// SPDX-License-Identifier: Apache-2.0

import JSON
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Customers
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// The trace of an event, from Apple's notification to the endpoint of a client.
@Suite("The trace of a webhook", .timeLimit(.patient))
struct WebhookTraceTests {
    @Test func `a delivery has a link to the notification that caused it`() async throws {
        let collector = SpanCollector(), receiver = WebhookReceiver()
        try await receiver.run { port in
            try await collector.run { url in
                try await Self.withGateway(webhooksTo: port, url) { gateway in
                    // An endpoint gets the events after its first connection to the log: one notification a second, because
                    // more spans than the queue holds are dropped.
                    var number = 0, next = ContinuousClock.now
                    try await eventually {
                        if next <= .now {
                            (number, next) = (number + 1, .now + .seconds(1))
                            let refund = SignedNotifications.refund(number)
                            let answer = try await gateway.post("/apple/notifications", body: refund)
                            #expect(answer?.status == 200)
                        }
                        return !receiver.received.isEmpty
                    }
                }
            }
        }
        let delivered = try #require(receiver.received.first)
        let trace = try #require(delivered.headers["ce-traceparent"].flatMap { TraceContext(traceparent: $0) })
        #expect(trace.isSampled)
        #expect(String(decoding: delivered.body, as: UTF8.self).hasSuffix(#","traceparent":"\#(trace.traceparent)"}"#))
        let cause = try #require(collector.spans.first { $0.spanID == trace.spanID })
        #expect(cause.name == "POST /apple/notifications" && cause.traceID == trace.traceID)
        let delivery = try #require(
            collector.spans.first { $0.json.elements("links").first?["spanId"]?.string == trace.spanID })
        #expect(delivery.name == "POST" && delivery.kind == "3" && delivery.parent.isEmpty)
        #expect(delivery.traceID != trace.traceID)
        #expect(delivery.json.elements("links").first?["traceId"]?.string == trace.traceID)
        #expect(delivery.attributes["http.response.status_code"] == "200")
        #expect(delivery.attributes["receipt_gateway.event_type"] == delivered.headers["ce-type"])
    }

    @Test(arguments: [
        (#"{"id":"x","traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#, true),
        (#"{"id":"x"}"#, false), ("{}", false), ("", false),
        (#"{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","id":"x"}"#, false),
    ])
    func `an event names its trace at its end, or none`(json: String, isNamed: Bool) {
        let event = Event(
            id: "x", type: .unknown, bundleID: "a", environment: .production, originalTransactionID: nil,
            occurredAt: .earliest, json: Array(json.utf8))
        #expect(
            event.traceparent.flatMap { TraceContext(traceparent: $0) }?.spanID == (isNamed ? "00f067aa0ba902b7" : nil))
    }

    /// Runs a gateway without Redis, with one endpoint on this machine. Its time begins after the samples were signed.
    private static func withGateway(
        webhooksTo port: Int, _ collector: CollectorURL, _ body: (RunningGateway) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let clients = try folder.write(
            """
            clients:
            - name: shop
              apps: [com.example.forge]
              keys: []
              webhooks: [{name: billing, url: "http://localhost:\(port)/hooks", secrets: ["\(WebhookSamples.key)"]}]
            """, to: "clients.yaml")
        let start = ContinuousClock.now
        try await RunningGateway.with(
            trusting: [SignedSamples.pki.root.pem],
            {
                $0.notifications.allowsVolatile = true
                ($0.clientsFile, $0.apiKeyPepper) = (clients, RunningGateway.pepper)
                ($0.webhooks.allowsPlainHTTP, $0.webhooks.allowsPrivateAddresses) = (true, true)
                $0.traces.endpoint = collector
            }, dependencies: { $0.clock = { SignedSamples.now.advanced(by: .now - start) } }, body)
    }
}
