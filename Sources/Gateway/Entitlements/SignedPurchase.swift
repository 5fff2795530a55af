// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The dates of a purchase or renewal in any form.
package protocol DatedPurchase {
    /// The time of the charge, or the start of the period.
    var purchaseDate: Timestamp? { get }
    /// The end of the subscription period; nil for other products.
    var expiresDate: Timestamp? { get }
    var isSubscription: Bool { get }
}

extension DatedPurchase {
    var start: Timestamp { purchaseDate ?? .earliest }

    /// The end of the period, else the purchase date.
    package var expiryOrder: Timestamp { expiresDate ?? start }
}

/// A purchase or renewal as a value, or in the bytes of a receipt.
package protocol SignedPurchase: DatedPurchase {
    var transactionID: String { get }
    var originalTransactionID: String? { get }
    var originalPurchaseDate: Timestamp? { get }
    var cancellationDate: Timestamp? { get }
    var isTrialPeriod: Bool? { get }
    var isInIntroOfferPeriod: Bool? { get }
    var productType: ProductType? { get }
}

extension SignedPurchase {
    /// The original transaction ID, or the transaction's own: receipts made in Xcode have no original transaction ID.
    package var chainID: String { originalTransactionID ?? transactionID }

    /// True for auto-renewable subscriptions: only they have an expiry date, but the date may be missing.
    package var isSubscription: Bool { expiresDate != nil || productType == .autoRenewableSubscription }

    package var isConsumable: Bool { productType == .consumable }

    package var usedIntroOffer: Bool { isTrialPeriod == true || isInIntroOfferPeriod == true }
}

extension Transaction: SignedPurchase {}
extension InAppPurchase: SignedPurchase {}
