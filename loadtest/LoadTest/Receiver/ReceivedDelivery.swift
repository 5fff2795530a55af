// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// A webhook as it was received.
struct ReceivedDelivery: Hashable, Sendable {
    /// The fields by lower-case name.
    let headers: [String: String]
    let body: [UInt8]

    /// The value of `webhook-id`; empty without the field.
    var id: String { headers["webhook-id"] ?? "" }
    var timestamp: String { headers["webhook-timestamp"] ?? "" }

    private enum Limits {
        /// The tolerance of Standard Webhooks for `webhook-timestamp`, in seconds.
        static let clockDifference: Int64 = 300
    }

    /// Returns true if one of the keys signed it, at about this time.
    /// - Parameter now: in seconds since 1970.
    func isSigned(by keys: [WebhookVerifier], at now: Int64) -> Bool {
        guard let signatures = headers["webhook-signature"], let time = Int64(timestamp),
            abs(now - time) <= Limits.clockDifference
        else { return false }
        return keys.contains { $0.accepts(signatures, id: id, timestamp: timestamp, body: body) }
    }

    /// The event of the body; nil if it is none, or if the body and the fields disagree.
    var event: ReceivedEvent? {
        guard let event = ReceivedEvent(body), event.id == id, agrees(with: event) else { return nil }
        return event
    }

    /// Returns true if the CloudEvents attributes in the fields match the event.
    private func agrees(with event: ReceivedEvent) -> Bool {
        headers["ce-specversion"] == "1.0" && headers["ce-id"] == event.id && headers["ce-type"] == event.type
            && headers["ce-subject"] == event.chain
    }
}

/// The members of an event that order and loss are checked by.
struct ReceivedEvent: Hashable, Sendable {
    let id: String
    let type: String
    /// The original transaction ID; nil for an event about none.
    let chain: String?
    /// In RFC 3339 without the closing `Z`, so that texts compare as times do, with a fraction or without.
    let time: String
    /// True if an earlier event of the chain was given up.
    let followsGap: Bool

    private static let limits = JSONValue.Limits(bytes: 4 << 20, depth: 16, values: 100_000)

    /// Reads the JSON of an event; nil if it is none.
    init?(_ body: [UInt8]) {
        guard let json = try? JSONValue(parsing: body, limits: Self.limits), let id = json["id"]?.string,
            let type = json["type"]?.string, let time = json["timestamp"]?.string, time.hasSuffix("Z"),
            let data = json["data"], data.members != nil
        else { return nil }
        (self.id, self.type, self.time) = (id, type, String(time.dropLast()))
        chain = data["original_transaction_id"]?.string
        followsGap = json["gap"]?.bool ?? false
    }
}
