// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

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
        if endpoint.stream == .events { headers += Self.cloudEventsAttributes(of: event) }
        return WebhookRequest(url: endpoint.url, headers: headers, body: body)
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
        return attributes + (event.originalTransactionID.map { [("ce-subject", $0)] } ?? [])
    }
}
