// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NIOCore
import Testing

@testable import LoadTest

/// `receipt-loadtest receiver`: real requests to its endpoints.
struct ReceiverTests {
    @Test func `deliveries are counted, and their copies`() async throws {
        try await Self.withReceiver { receiver in
            let endpoint = try #require(receiver["shop"])
            for id in ["evt_1", "evt_2", "evt_1"] {
                #expect(try await receiver.deliver(.sample(id: id), to: endpoint).status == 200)
            }
            let counts = endpoint.tally.counts
            #expect(counts.requests == 3 && counts.distinct == 2 && counts.duplicates == 1)
            #expect(endpoint.deliveries.map(\.id) == ["evt_1", "evt_2", "evt_1"])
            #expect(receiver["other"]?.tally.counts.requests == 0)
        }
    }

    @Test func `fields that disagree with the body are malformed, and a wrong signature is counted`() async throws {
        let key = try #require(WebhookVerifier(WebhookSecret.new()))
        let plans = [ReceiverEndpoint.Plan(name: "open"), ReceiverEndpoint.Plan(name: "signed", keys: [key])]
        try await Self.withReceiver(plans) { receiver in
            let open = try #require(receiver["open"]), signed = try #require(receiver["signed"])
            let sample = ReceivedDelivery.sample(id: "evt_1")
            let other = sample.headers.merging(["ce-subject": "999"]) { $1 }
            let wrong = ReceivedDelivery(headers: other, body: sample.body)
            #expect(try await receiver.deliver(wrong, to: open).status == 400)
            #expect(open.tally.counts.malformed == 1 && open.tally.counts.accepted == 0)
            #expect(try await receiver.deliver(sample, to: signed).status == 401)
            #expect(signed.tally.counts.unsigned == 1 && signed.tally.counts.accepted == 0)
        }
    }

    @Test func `a fault lasts for a number of requests`() async throws {
        try await Self.withReceiver { receiver in
            let endpoint = try #require(receiver["shop"])
            try await receiver.set(.status(503, retryAfter: 7), of: endpoint, requests: 2)
            var replies: [Exchange.Reply] = []
            for _ in 0..<3 { replies.append(try await receiver.send(.sample(id: "evt_1"), to: endpoint)) }
            #expect(replies.map(\.answer?.status) == [503, 503, 200])
            #expect(String(buffer: replies[0].bytes).contains("Retry-After: 7\r\n"))
            #expect(endpoint.tally.counts.refused == 2 && endpoint.tally.counts.accepted == 1)
        }
    }

    @Test func `an endpoint that is down refuses connections, and comes back at its port`() async throws {
        try await Self.withReceiver { receiver in
            let endpoint = try #require(receiver["shop"])
            let url = receiver.url(of: endpoint)
            try await receiver.set(.down, of: endpoint)
            await #expect(throws: LoadRunError.self) { try await receiver.send(.sample(id: "evt_1"), to: endpoint) }
            try await receiver.set(.none, of: endpoint)
            #expect(receiver.url(of: endpoint) == url)
            #expect(try await receiver.deliver(.sample(id: "evt_1"), to: endpoint).status == 200)
        }
    }

    @Test func `a redirect that is followed is counted`() async throws {
        try await Self.withReceiver { receiver in
            let endpoint = try #require(receiver["shop"])
            try await receiver.set(.redirect, of: endpoint)
            let reply = try await receiver.send(.sample(id: "evt_1"), to: endpoint)
            #expect(reply.answer?.status == 307)
            #expect(String(buffer: reply.bytes).contains("Location: /shop/elsewhere\r\n"))
            _ = try await receiver.send(.sample(id: "evt_1"), to: endpoint, path: "/shop/elsewhere")
            #expect(endpoint.tally.counts.elsewhere == 1 && endpoint.tally.counts.refused == 1)
        }
    }

    @Test func `an endpoint that lies has taken the event`() async throws {
        try await Self.withReceiver { receiver in
            let endpoint = try #require(receiver["shop"])
            try await receiver.set(.short, of: endpoint)
            #expect(try await receiver.send(.sample(id: "evt_1"), to: endpoint).answer == nil)
            try await receiver.set(.long, of: endpoint)
            let long = String(buffer: try await receiver.send(.sample(id: "evt_2"), to: endpoint).bytes)
            #expect(long.hasPrefix("HTTP/1.1 200") && long.contains("Content-Length: 4\r\n"))
            #expect(endpoint.tally.counts.distinct == 2)
        }
    }

    // MARK: - Control

    @Test func `control requests change faults and show counts`() async throws {
        try await Self.withReceiver { receiver in
            let endpoint = try #require(receiver["shop"])
            let text = #"{"endpoint": "shop", "fault": {"status": 429, "retry_after": 3}, "requests": 1}"#
            #expect(try await receiver.control("PUT", "/control", text).answer?.status == 204)
            #expect(endpoint.fault == .status(429, retryAfter: 3))
            #expect(try await receiver.deliver(.sample(id: "evt_1"), to: endpoint).status == 429)
            let stats = String(decoding: try await receiver.control("GET", "/stats").body, as: UTF8.self)
            #expect(stats.contains(#""refused" : 1"#) && stats.contains(#""order_digest""#), "\(stats)")
            #expect(try await receiver.control("DELETE", "/stats").answer?.status == 204)
            #expect(endpoint.tally.counts == DeliveryTally.Counts())
        }
    }

    @Test(arguments: [
        "{}", #"{"endpoint": "shop"}"#, #"{"endpoint": "shop", "fault": "tired"}"#,
        #"{"endpoint": "shop", "fault": {"status": 200}}"#, #"{"endpoint": "shop", "fault": "down", "requests": 1}"#,
        #"{"endpoint": "shop", "fault": "gone", "colour": "red"}"#, #"{"endpoint": "unknown", "fault": "gone"}"#,
    ])
    func `a control request with a fault of its own is refused`(text: String) async throws {
        try await Self.withReceiver { receiver in
            let reply = try await receiver.control("PUT", "/control", text)
            #expect(reply.answer?.status == 422)
        }
    }

    @Test(arguments: [
        ["--endpoint", "a", "--endpoint", "a"], ["--endpoint", "A"], ["--endpoint", "a:70000"], ["--key", "secret"],
        ["--expired"], ["--control-port", "-1"],
    ])
    func `impossible options are refused`(options: [String]) {
        #expect(throws: (any Error).self) { try ReceiverCommand.parse(options) }
    }

    @Test func `the command prints a key for each endpoint, and uses it`() async throws {
        let (receiver, keys) = try await ReceiverCommand.parse(["--endpoint", "a", "--endpoint", "b"]).start()
        #expect(Set(keys.keys) == ["a", "b"] && keys["a"] != keys["b"])
        for endpoint in receiver.endpoints {
            let key = try #require(keys[endpoint.name]?.first)
            let verifier = try #require(WebhookVerifier(key))
            #expect(endpoint.plan.keys == [verifier])
        }
        await receiver.stop()
    }

    @Test(arguments: [
        ["--events", "0"], ["--fault", "tired"], ["--fault", "{status: 204}"], ["--gateways", "11"],
        ["--endpoints", "1"],
    ])
    func `an impossible measurement is refused`(options: [String]) {
        #expect(throws: (any Error).self) { try WebhooksCommand.parse(options) }
    }

    private static func withReceiver(
        _ endpoints: [ReceiverEndpoint.Plan] = [.init(name: "shop", keeps: 10), .init(name: "other")],
        _ body: (WebhookReceiver) async throws -> Void
    ) async throws {
        try await WebhookReceiver.start(.init(endpoints: endpoints)).whileRunning(body)
    }
}

extension WebhookReceiver {
    /// Sends a delivery, and returns the answer.
    func deliver(_ delivery: ReceivedDelivery, to endpoint: ReceiverEndpoint) async throws -> LoadAnswer {
        try #require(try await send(delivery, to: endpoint).answer)
    }

    func send(
        _ delivery: ReceivedDelivery, to endpoint: ReceiverEndpoint, path: String? = nil
    ) async throws -> Exchange.Reply {
        let url = url(of: endpoint).replacing(endpoint.path, with: path ?? endpoint.path)
        let fields = delivery.headers.map { HeaderField(name: $0.key, value: $0.value) }
        let target = try LoadTarget(url)
        return try await Exchange(target: target).send(
            RequestForm.request("POST", target, fields, body: delivery.body))
    }

    func control(_ method: String, _ path: String, _ body: String? = nil) async throws -> Exchange.Reply {
        let target = try LoadTarget(controlURL + path)
        let request = RequestForm.request(method, target, [], body: body.map { Array($0.utf8) })
        return try await Exchange(target: target).send(request)
    }
}
