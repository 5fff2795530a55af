// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// A purchase or renewal in any form: as a value, or in the bytes of a receipt.
package protocol SignedPurchase {
    var transactionID: String { get }
    var originalTransactionID: String? { get }
    var purchaseDate: Timestamp? { get }
    var originalPurchaseDate: Timestamp? { get }
    var expiresDate: Timestamp? { get }
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
