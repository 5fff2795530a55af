// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// The effects of the Server API's writes on a customer, and of evidence that is no receipt.
struct CustomerChanges: Hashable, Sendable {
    /// UUIDs by original transaction ID.
    var appAccountTokens: [String: String] = [:]
    /// Seconds added to periods, by transaction ID.
    var extensions: [String: Int64] = [:]
    /// The dates of the extensions, by original transaction ID.
    var extensionDates: [String: [UTCDate]] = [:]
    /// The transaction IDs of finished consumables.
    var finished: Set<String> = []
    /// The original transaction IDs of purchases by another family member.
    var familyShared: Set<String> = []
    /// The number of purchases and renewals that notifications announced.
    var addedPurchases = 0
    /// The signing date of the last notification.
    private var notifiedAt: Timestamp?
}

extension CustomerChanges {
    /// Returns the signing date of the next notification: later than the last notification's date.
    mutating func dateNotification(at now: Timestamp) -> Timestamp {
        let date = notifiedAt.map { max(now, $0.advanced(by: .milliseconds(1))) } ?? now
        notifiedAt = date
        return date
    }
}
