// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A purchase or renewal as Apple knows it: the receipt's data, and the server's.
struct Transaction: Hashable, Sendable {
    var purchase: PurchaseContents
    /// True if an upgrade replaced it.
    var isUpgraded = false
    /// True if another family member bought it.
    var isFamilyShared = false
    /// The offer code it was bought with.
    var offerCode: String?

    init(_ purchase: PurchaseContents) {
        self.purchase = purchase
    }

    /// Marks it as refunded at a date, or at its purchase if that was later.
    mutating func refund(at date: UTCDate, _ reason: PurchaseContents.CancellationReason) {
        purchase.cancellationDate = max(date, purchase.purchaseDate)
        purchase.cancellationReason = reason
    }
}
