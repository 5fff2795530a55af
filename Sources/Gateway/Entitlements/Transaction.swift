// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// One purchase or renewal, as a receipt or Apple tells of it. Names follow Apple's `verifyReceipt` answer; what nobody
/// told is nil.
public struct Transaction: Hashable, Sendable {
    /// How the customer came by it. The raw values are Apple's.
    public enum Ownership: String, CaseIterable, Hashable, Sendable {
        /// Bought by the customer.
        case purchased = "PURCHASED"
        /// Bought by a member of the customer's family.
        case familyShared = "FAMILY_SHARED"
    }

    /// The reason why a transaction came about. The raw values are those of the API.
    public enum Reason: String, CaseIterable, Hashable, Sendable {
        /// The first purchase of its chain.
        case purchase
        /// A later period of a subscription: a renewal, or a purchase after it had ended.
        case renewal
        /// A copy of an earlier purchase, made when the customer restored it.
        case restore
    }

    /// The reason why Apple took a purchase back. The raw values are those of the API.
    public enum Revocation: String, CaseIterable, Hashable, Sendable {
        /// The customer got the money back.
        case refund
        /// The family member who bought it no longer shares it.
        case familySharingEnded = "family_sharing_ended"
    }

    /// What was bought.
    public var productID: String
    /// This purchase or renewal.
    public var transactionID: String
    /// The first transaction of the chain this one belongs to.
    public var originalTransactionID: String?
    /// When the customer was charged, or the period began.
    public var purchaseDate: Timestamp?
    /// When the first transaction of the chain was bought.
    public var originalPurchaseDate: Timestamp?
    /// When the subscription period ends; nil for what is no subscription.
    public var expiresDate: Timestamp?
    /// When Apple refunded or revoked the transaction, or an upgrade replaced it.
    public var cancellationDate: Timestamp?
    /// Why: 1 for an issue with the app, 0 for another reason.
    public var cancellationReason: Int64?
    /// Whether the customer moved on to a better product within the subscription group.
    public var isUpgraded = false
    /// Whether the period is a free trial.
    public var isTrialPeriod: Bool?
    /// Whether the period is at an introductory price.
    public var isInIntroOfferPeriod: Bool?
    /// How the customer came by it; receipts do not tell.
    public var ownership: Ownership?
    /// The group whose subscriptions replace each other; receipts do not tell.
    public var subscriptionGroupID: String?
    /// The promotional offer that was redeemed.
    public var promotionalOfferID: String?
    /// The name of the offer code that was redeemed.
    public var offerCodeName: String?
    /// The UUID that the app gave to the purchase.
    public var appAccountToken: String?
    /// How many were bought.
    public var quantity: Int64?
    /// The number of the subscription purchase across devices.
    public var webOrderLineItemID: String?
    /// What kind of product was bought; only receipts tell.
    public var productType: ProductType?

    /// A transaction of which no more is known.
    public init(productID: String, transactionID: String) {
        self.productID = productID
        self.transactionID = transactionID
    }
}

extension Transaction {
    /// A purchase of a verified receipt.
    public init(_ purchase: InAppPurchase) {
        self.init(productID: purchase.productID, transactionID: purchase.transactionID)
        originalTransactionID = purchase.originalTransactionID
        purchaseDate = purchase.purchaseDate
        originalPurchaseDate = purchase.originalPurchaseDate
        expiresDate = purchase.expiresDate
        cancellationDate = purchase.cancellationDate
        cancellationReason = purchase.cancellationReason
        isTrialPeriod = purchase.isTrialPeriod
        isInIntroOfferPeriod = purchase.isInIntroOfferPeriod
        promotionalOfferID = purchase.promotionalOfferID
        quantity = purchase.quantity
        webOrderLineItemID = purchase.webOrderLineItemID.map { String($0) }
        productType = purchase.productType
    }

    /// The reason why the transaction came about. The first one of a chain has the chain's ID. A restored subscription
    /// begins when the first period did.
    public var reason: Reason {
        guard chainID != transactionID else { return .purchase }
        return isSubscription && purchaseDate != originalPurchaseDate ? .renewal : .restore
    }

    /// The reason why Apple took the purchase back; nil if it did not, and where no ownership is known.
    public var revocation: Revocation? {
        guard cancellationDate != nil, !isUpgraded, let ownership else { return nil }
        return ownership == .familyShared ? .familySharingEnded : .refund
    }

    /// Only auto-renewable subscriptions have an expiry date.
    var isSubscription: Bool { expiresDate != nil }

    /// Receipts made in Xcode have no original transaction ID.
    var chainID: String { originalTransactionID ?? transactionID }

    /// Whether the period is paid for and under way. Apple's clock may be ahead of ours by `skew`: what it has sold has
    /// begun.
    func isActive(at now: Timestamp, skew: Duration) -> Bool {
        guard let expiresDate, cancellationDate == nil, !isUpgraded else { return false }
        return now < expiresDate && (purchaseDate ?? now) <= now.advanced(by: skew)
    }

    var usedIntroOffer: Bool { isTrialPeriod == true || isInIntroOfferPeriod == true }

    /// When the period ends, or else when it was bought.
    var expiryOrder: Timestamp { expiresDate ?? start }

    private var start: Timestamp { purchaseDate ?? Timestamp(millisecondsSince1970: .min) }

    /// Orders transactions by the end of their period, then by its start, then by their names: of two that end together,
    /// an upgrade and what it replaced for instance, the same one must count in whichever order they stand.
    ///
    /// The period that an upgrade replaced ended with the upgrade: a year that became months must not count as later.
    fileprivate func endsEarlier(than other: Transaction) -> Bool {
        if isUpgraded != other.isUpgraded { return isUpgraded }
        if expiryOrder != other.expiryOrder { return expiryOrder < other.expiryOrder }
        if start != other.start { return start < other.start }
        return transactionID < other.transactionID
    }
}

extension [Transaction] {
    /// The transaction whose period ends last. The list is never empty, and its order means nothing.
    var latest: Transaction { latest(among: Array<Int>(indices)) }

    /// The same of those with these indices, at least one.
    func latest(among indices: [Int]) -> Transaction {
        self[indices.dropFirst().reduce(indices[0]) { self[$0].endsEarlier(than: self[$1]) ? $1 : $0 }]
    }

    /// Without those subscription transactions that a later one of the same subscription has superseded.
    func withoutOldTransactions() -> [Transaction] {
        let latest = Dictionary(grouping: filter(\.isSubscription), by: \.chainID).mapValues(\.latest.transactionID)
        return filter { !$0.isSubscription || latest[$0.chainID] == $0.transactionID }
    }
}
