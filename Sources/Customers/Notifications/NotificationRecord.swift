// SPDX-License-Identifier: Apache-2.0

internal import JSON
package import Receipts

/// A notification as it is stored until it is applied.
package struct NotificationRecord: Hashable, Sendable {
    /// The version of Apple's notifications. The raw values appear in the stored form.
    package enum Version: UInt8, CaseIterable, Hashable, Sendable {
        case v1 = 1
        case v2 = 2

        package var name: String { "\(self)" }
    }

    package var version: Version
    /// The body that Apple posted, unchanged; for a notification of Apple's history, as Apple would have posted it.
    package var bytes: [UInt8]
    /// The time of its intake, by the clock of the node that took it.
    package var receivedAt: Timestamp
    /// The source; not part of the stored form.
    package var origin = NotificationOrigin.posted

    package init(_ version: Version, _ bytes: [UInt8], receivedAt: Timestamp) {
        (self.version, self.bytes, self.receivedAt) = (version, bytes, receivedAt)
    }

    /// Returns true if the notification names one of these purchases, in what is signed or beside it. Signatures are
    /// not verified: they were at the intake, and dead letters may no longer verify.
    package func names(_ ids: IDsToErase) -> Bool {
        guard let json = try? JSONValue(parsing: bytes, limits: NotificationBody.Limits.json) else {
            return ids.areNamed(in: bytes)
        }
        return json.names(ids, depth: 0)
    }
}

/// The identity of a notification: equal in all its deliveries, and unequal to every other notification.
package struct NotificationIdentity: Hashable, Sendable {
    /// The parts that together identify it, for a pseudonymous name.
    package let parts: [String]

    package init(_ environment: Environment, uuid: String) {
        // Apple writes UUIDs in lower case; another spelling is the same UUID (RFC 9562 §4).
        parts = ["v2", environment.rawValue, uuid.lowercased()]
    }

    init(v1 parts: [String]) { self.parts = ["v1"] + parts }
}

extension AppPartition {
    /// Returns the partition of a notification about no transaction, such as a test.
    package init(bundleID: String, of identity: NotificationIdentity) {
        self.init(bundleID: bundleID, of: identity.parts.joined(separator: " "))
    }
}

extension Event {
    package init(relaying record: NotificationRecord, of bundleID: String) {
        let cause = [Fingerprint(of: record.bytes.span).description]
        self.init(
            id: Event.id("relay", bundleID: bundleID, .production, cause: cause), type: .unknown,
            bundleID: bundleID, environment: .production, originalTransactionID: nil,
            occurredAt: record.receivedAt, json: record.bytes)
    }
}

private enum Limits {
    /// The signed payloads within each other: a notification has transactions.
    static let depth = 3
    /// The characters of the shortest receipt or payload, about.
    static let encodedBytes = 64
}

extension JSONValue {
    fileprivate func names(_ ids: IDsToErase, depth: Int) -> Bool {
        switch content {
        case .string(let text): text.string.map { ids.areNamed(by: $0) || $0.encodes(ids, depth: depth) } ?? false
        case .number(let number): ids.areNamed(by: number.text)
        case .array(let elements): elements.contains { $0.names(ids, depth: depth) }
        case .object(let members): members.contains { $0.value.names(ids, depth: depth) }
        case .null, .bool: false
        }
    }
}

extension String {
    /// Returns true if the text is a JWS or a receipt that names one of these purchases.
    fileprivate func encodes(_ ids: IDsToErase, depth: Int) -> Bool {
        guard utf8.count >= Limits.encodedBytes, depth < Limits.depth else { return false }
        let parts = utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            return (try? Base64.decode(self)).map { ids.areNamed(in: $0) } ?? false
        }
        guard let payload = Base64URLDecoder.decode(Array(parts[1]).span),
            let json = try? JSONValue(parsing: payload, limits: NotificationBody.Limits.json)
        else { return false }
        return json.names(ids, depth: depth + 1)
    }
}
