// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

/// A notification as it is stored until it is applied.
package struct NotificationRecord: Hashable, Sendable {
    /// The format of the notification's bytes. The raw values are those of the stored form.
    package enum Version: UInt8, CaseIterable, Hashable, Sendable {
        /// The JSON body that Apple posted.
        case v1 = 1
        /// The JWS of `signedPayload`.
        case v2 = 2

        /// The name in logs and metrics.
        package var name: String { "\(self)" }
    }

    package var version: Version
    /// The bytes that Apple sent, unchanged.
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

/// The identity of a notification: the same in every delivery of it, and in no other one.
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

/// A part of an app's notifications and customer states. In a Redis cluster, all keys of one are on one node.
package struct NotificationPartition: Hashable, Sendable {
    /// The number of partitions of each app. A change would lose all that is stored: it is part of the stored form.
    package static let count = 8

    package let bundleID: String
    /// From 0 to below `count`.
    package let number: Int

    /// Returns the partition of what has this ID: an original transaction, or a notification about none.
    package init(bundleID: String, of id: String) {
        self.bundleID = bundleID
        // Independent of any key: the partition must not change with the keys of Redis.
        number = Int(Fingerprint(of: Array(id.utf8).span).fraction * Double(Self.count))
    }

    /// Returns the partition of a notification about no transaction, such as a test.
    package init(bundleID: String, of identity: NotificationIdentity) {
        self.init(bundleID: bundleID, of: identity.parts.joined(separator: " "))
    }

    init(bundleID: String, number: Int) {
        self.bundleID = bundleID
        self.number = number
    }

    package static func all(of bundleID: String) -> [NotificationPartition] {
        (0..<count).map { NotificationPartition(bundleID: bundleID, number: $0) }
    }
}

extension PurchaseChain {
    package var partition: NotificationPartition {
        NotificationPartition(bundleID: bundleID, of: originalTransactionID)
    }
}
