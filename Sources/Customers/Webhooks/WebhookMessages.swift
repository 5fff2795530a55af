// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import JSON
package import Receipts

/// The headers and body of deliveries to an endpoint.
struct WebhookMessages: Sendable {
    let endpoint: WebhookEndpoint
    private let signer: WebhookSigner

    init(to endpoint: WebhookEndpoint) {
        self.endpoint = endpoint
        signer = WebhookSigner(endpoint.keys)
    }

    /// Returns the request that delivers an event.
    /// - Parameter followsGap: true if an earlier event of its chain was not delivered.
    func request(for event: Event, followsGap: Bool, at now: Timestamp) -> WebhookRequest {
        let body = body(of: event, followsGap: followsGap)
        let seconds = now.millisecondsSince1970 / 1000
        var headers = [
            ("content-type", "application/json"), ("webhook-id", event.id), ("webhook-timestamp", "\(seconds)"),
        ]
        if let signature = signer.signature(id: event.id, timestamp: seconds, body: body) {
            headers.append(("webhook-signature", signature))
        }
        // The end of a relayed body is the sender's, who must not choose what is traced.
        guard endpoint.stream == .events else { return WebhookRequest(url: endpoint.url, headers: headers, body: body) }
        headers += Self.cloudEventsAttributes(of: event)
        return WebhookRequest(url: endpoint.url, headers: headers, body: body, traceparent: event.traceparent)
    }

    /// A relayed body is Apple's, unchanged.
    private func body(of event: Event, followsGap: Bool) -> [UInt8] {
        switch endpoint.stream {
        case .events: event.json(includingSignedData: endpoint.includesSignedData, followsGap: followsGap)
        case .relay: event.json
        }
    }

    /// The attributes in HTTP's binary mode (CloudEvents 1.0, HTTP Protocol Binding §3.1).
    private static func cloudEventsAttributes(of event: Event) -> [(String, String)] {
        let source = "/apps/\(event.bundleID)/\(event.environment.rawValue)"
        let attributes = [
            ("ce-specversion", "1.0"), ("ce-id", event.id), ("ce-type", event.type.rawValue), ("ce-source", source),
            ("ce-time", event.occurredAt.description),
        ]
        let optional = [("ce-subject", event.originalTransactionID), ("ce-traceparent", event.traceparent)]
        return attributes + optional.compactMap { name, value in value.map { (name, $0) } }
    }
}

/// The keys of an endpoint, ready to sign (Standard Webhooks, "Signature scheme").
struct WebhookSigner: Sendable {
    private let keys: [WebhookKey.SigningKey]

    init(_ keys: [WebhookKey]) {
        self.keys = keys.map { key in
            guard let key = try? key.signingKey() else { preconditionFailure("the text of a key is checked before") }
            return key
        }
    }

    /// Returns the value of `webhook-signature`, by all keys, so that receivers may change theirs; nil without keys.
    /// - Parameter timestamp: the seconds since 1970 in `webhook-timestamp`.
    func signature(id: String, timestamp: Int64, body: [UInt8]) -> String? {
        guard !keys.isEmpty else { return nil }
        let content = Array("\(id).\(timestamp).".utf8) + body
        return keys.map { key in
            switch key {
            case .hmac(let key): "v1," + Base64.encode(key.code(for: content.span))
            case .ed25519(let key): "v1a," + Base64.encode(key.signature(over: content))
            }
        }.joined(separator: " ")
    }
}

extension WebhookRequest {
    /// Creates a request with a synthetic event, signed as others are, for trying an endpoint out.
    /// - Parameter number: a random number, which makes the event's ID.
    package init(testing endpoint: WebhookEndpoint, number: UInt64, at now: Timestamp) {
        let event = Event.test(of: endpoint.apps.min() ?? "", id: "evt_test_\(number)", at: now)
        self = WebhookMessages(to: endpoint).request(for: event, followsGap: false, at: now)
    }
}

extension Event {
    fileprivate static func test(of bundleID: String, id: String, at now: Timestamp) -> Event {
        let json = JSONWriter.object(reservingCapacity: 256) { json in
            json.member("id", id)
            json.member("type", EventType.unknown.rawValue)
            json.member("timestamp", now.description)
            json.object("data") { json in
                json.member("bundle_id", bundleID)
                json.member("environment", Environment.sandbox.rawValue)
                json.member("test", true)
            }
        }
        return Event(
            id: id, type: .unknown, bundleID: bundleID, environment: .sandbox, originalTransactionID: nil,
            occurredAt: now, json: json)
    }
}
