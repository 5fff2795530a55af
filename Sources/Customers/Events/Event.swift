// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Receipts

/// One change of a customer's state, as clients receive it. The JSON is written once and stored: it does not change
/// between deliveries, or after an upgrade of the gateway.
package struct Event: Hashable, Sendable {
    /// `evt_` and 32 base64url characters, derived from environment, cause and change: equal on every node.
    package var id: String
    package var type: EventType
    package var bundleID: String
    /// Production or the sandbox.
    package var environment: Environment
    /// The purchase chain whose events stay in order; nil for an event about none.
    package var originalTransactionID: String?
    /// The time at which Apple signed the change, or at which it followed from dates.
    package var occurredAt: Timestamp
    /// The JSON object that clients receive: `{"id", "type", "timestamp", "data"}` (docs/events.yaml).
    package var json: [UInt8]
    /// The JSON object of `signed_transaction` and `signed_renewal_info`; empty if they are not kept.
    package var signedData: [UInt8] = []

    package init(
        id: String, type: EventType, bundleID: String, environment: Environment, originalTransactionID: String?,
        occurredAt: Timestamp, json: [UInt8], signedData: [UInt8] = []
    ) {
        (self.id, self.type, self.bundleID, self.environment) = (id, type, bundleID, environment)
        (self.originalTransactionID, self.occurredAt) = (originalTransactionID, occurredAt)
        (self.json, self.signedData) = (json, signedData)
    }

    /// Returns the JSON with members added to its end.
    /// - Parameters:
    ///   - includesSignedData: true to add `signed_data`, if it is kept.
    ///   - followsGap: true to add `"gap": true`: an earlier event of this chain was not delivered.
    package func json(includingSignedData includesSignedData: Bool, followsGap: Bool = false) -> [UInt8] {
        var added = followsGap ? Array(#","gap":true"#.utf8) : []
        if includesSignedData, !signedData.isEmpty { added += Array(#","signed_data":"#.utf8) + signedData }
        return added.isEmpty ? json : json.dropLast() + added + [UInt8(ascii: "}")]
    }

    /// The span that caused it: the last member of the JSON, if it is `traceparent`.
    package var traceparent: String? {
        let name = Array(#""traceparent":""#.utf8), length = 55, end = Array(#""}"#.utf8)
        let member = json.suffix(name.count + length + end.count)
        guard member.starts(with: name), member.suffix(end.count) == end[...] else { return nil }
        return String(decoding: member.dropFirst(name.count).dropLast(end.count), as: UTF8.self)
    }

    /// Returns true if the event is about one of these purchases, or names such a purchase.
    package func names(_ ids: IDsToErase) -> Bool {
        originalTransactionID.map(ids.contains) ?? false || ids.areNamed(in: json)
    }

    package var partition: AppPartition { AppPartition(bundleID: bundleID, of: originalTransactionID ?? id) }

    /// Returns the ID of the event for a change.
    /// - Parameters:
    ///   - change: the name of the change. Events of different types that report the same change share it.
    ///   - cause: what the change happened to, such as a transaction ID and a date.
    package static func id(_ change: String, bundleID: String, _ environment: Environment, cause: [String]) -> String {
        let parts = [change, bundleID, environment.rawValue] + cause
        // With the length of each part, so that no two lists have the same text.
        let text = parts.map { "\($0.utf8.count):\($0)" }.joined()
        return "evt_" + Base64.encodeURL(Array(HashFunction.sha256.digest(of: Array(text.utf8)).prefix(24)))
    }
}
