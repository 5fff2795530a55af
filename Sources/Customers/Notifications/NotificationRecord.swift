// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// A notification as it is stored until it is applied.
package struct NotificationRecord: Hashable, Sendable {
    /// The version of Apple's notifications. The raw values appear in the stored form.
    package enum Version: UInt8, CaseIterable, Hashable, Sendable {
        case v1 = 1
        case v2 = 2

        /// The name in logs and metrics.
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
        self.version = version
        self.bytes = bytes
        self.receivedAt = receivedAt
    }
}

/// The identity of a notification: equal in all its deliveries, and unequal to every other notification.
package struct NotificationIdentity: Hashable, Sendable {
    /// The parts that together identify it, for a pseudonymous name.
    package let parts: [String]

    /// Creates the identity of a notification of version 2.
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
    /// Creates the entry of the relay log for a notification.
    package init(relaying record: NotificationRecord, of bundleID: String) {
        let cause = [Fingerprint(of: record.bytes.span).description]
        self.init(
            id: Event.id("relay", bundleID: bundleID, .production, cause: cause), type: .unknown,
            bundleID: bundleID, environment: .production, originalTransactionID: nil,
            occurredAt: record.receivedAt, json: record.bytes)
    }
}
