// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import Receipts

/// A part of an app's notifications, customer states and events. In a Redis cluster, all keys of a partition are on one
/// node.
package struct AppPartition: Hashable, Sendable {
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

    package init(bundleID: String, number: Int) {
        self.bundleID = bundleID
        self.number = number
    }

    package static func all(of bundleID: String) -> [AppPartition] {
        (0..<count).map { AppPartition(bundleID: bundleID, number: $0) }
    }
}

extension PurchaseChain {
    package var partition: AppPartition { AppPartition(bundleID: bundleID, of: originalTransactionID) }
}
