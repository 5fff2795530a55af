// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The identity of a purchased period, which all its copies share.
///
/// Restored and regranted purchases have transaction IDs of their own. All copies of a period share one
/// `webOrderLineItemId` (an Apple engineer, forum thread 711952); purchases without a subscription have none.
package struct PurchasedPeriod: Hashable, Sendable {
    private let webOrderLineItemID: String
    private let productID: String
    /// True for a copy that a member of the family shares: the end of sharing does not end the purchase.
    private let isShared: Bool

    /// Nil for a transaction without such an identity.
    package init?(of transaction: Transaction) {
        guard transaction.isSubscription, let item = transaction.webOrderLineItemID, item != "0" else { return nil }
        (webOrderLineItemID, productID) = (item, transaction.productID)
        isShared = transaction.ownership == .familyShared
    }
}

/// The same identity among the facts of one list.
struct PeriodFacts: PurchaseIdentity {
    private let lineItem: TransactionFacts.LineItem
    private let product: InternedText
    private let isShared: Bool

    init?(_ transaction: TransactionFacts) {
        guard transaction.isSubscription, let item = transaction.lineItem else { return nil }
        (lineItem, product, isShared) = (item, transaction.product, transaction.isFamilyShared)
    }
}
