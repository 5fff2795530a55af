// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
package import Receipts

/// A synthetic event, signed as others are, for trying an endpoint out.
package struct WebhookTest: Sendable {
    package let request: WebhookRequest

    /// - Parameter number: a random number, which makes the event's ID.
    package init(for endpoint: WebhookEndpoint, number: UInt64, at now: Timestamp) {
        let event = Event.test(of: endpoint.apps.min() ?? "", id: "evt_test_\(number)", at: now)
        request = WebhookMessages(to: endpoint).request(for: event, followsGap: false, at: now)
    }

    /// Sends the event once.
    /// - Returns: the endpoint's answer, of any status.
    package func send(through sender: any WebhookSender) async throws(DeliveryFault) -> WebhookReply {
        try await sender.send(request)
    }
}

extension Event {
    fileprivate static func test(of bundleID: String, id: String, at now: Timestamp) -> Event {
        var json = JSONWriter(reservingCapacity: 256)
        json.object { json in
            json.member("id", id)
            json.member("type", EventType.unknown.rawValue)
            json.member("timestamp", now.description)
            json.key("data")
            json.object { json in
                json.member("bundle_id", bundleID)
                json.member("environment", Environment.sandbox.rawValue)
                json.member("test", true)
            }
        }
        return Event(
            id: id, type: .unknown, bundleID: bundleID, environment: .sandbox, originalTransactionID: nil,
            occurredAt: now, json: json.bytes)
    }
}
