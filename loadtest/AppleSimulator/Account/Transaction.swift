// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A purchase or renewal as Apple knows it: what the receipt says, and what only the server says.
struct Transaction: Hashable, Sendable {
    var purchase: PurchaseContents
    /// Whether a better product took this one's place.
    var isUpgraded = false
    /// Whether another member of the family bought it.
    var isFamilyShared = false
    /// The offer code it was bought with.
    var offerCode: String?

    init(_ purchase: PurchaseContents) {
        self.purchase = purchase
    }

    /// Marks it as paid back at a date, or when it was bought if that was later.
    mutating func refund(at date: UTCDate, _ reason: PurchaseContents.CancellationReason) {
        purchase.cancellationDate = max(date, purchase.purchaseDate)
        purchase.cancellationReason = reason
    }
}
