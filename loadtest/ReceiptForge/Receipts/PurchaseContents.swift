// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What a receipt says about one in-app purchase (attribute 17).
public struct PurchaseContents: Sendable, Hashable {
    /// Apple's numbers for attribute 1707.
    public enum ProductType: Int64, Sendable, Hashable, CaseIterable {
        /// Bought once, kept for ever.
        case nonConsumable = 0
        /// Used up; leaves the receipt once finished.
        case consumable = 1
        /// Lasts a time that only the app knows.
        case nonRenewingSubscription = 2
        /// Renewed by Apple until cancelled.
        case autoRenewableSubscription = 3
    }

    /// Apple's numbers for attribute 1720.
    public enum CancellationReason: Int64, Sendable, Hashable, CaseIterable {
        /// Another reason, for example bought by accident.
        case other = 0
        /// The customer found an issue in the app.
        case issueInApp = 1
    }

    /// Items bought at once.
    public var quantity: Int64 = 1
    /// The product's identifier, usually below the bundle ID.
    public var productID: String
    /// The identifier of this purchase or renewal, decimal digits.
    public var transactionID: String
    /// The identifier of the first purchase of the chain.
    public var originalTransactionID: String
    /// When this period was bought.
    public var purchaseDate: UTCDate
    /// When the first period was bought.
    public var originalPurchaseDate: UTCDate
    /// The end of the subscription period; nil for everything but subscriptions.
    public var expiresDate: UTCDate?
    /// When Apple gave the money back.
    public var cancellationDate: UTCDate?
    /// Why Apple gave the money back.
    public var cancellationReason: CancellationReason?
    /// Identifies a subscription period across devices; 0 means none.
    public var webOrderLineItemID: Int64 = 0
    /// In a free trial. Nil leaves the attribute out.
    public var isTrialPeriod: Bool? = false
    /// In an introductory price period. Nil leaves the attribute out, as receipts did before 2017.
    public var isInIntroOfferPeriod: Bool? = false
    /// The subscription offer the customer redeemed.
    public var promotionalOfferID: String?
    /// Nil leaves the attribute out.
    public var productType: ProductType? = .autoRenewableSubscription
    /// Attribute 1722, which Apple does not document; 0 in every genuine receipt seen so far.
    public var attribute1722: Int64 = 0

    /// A purchase that is the first of its chain.
    public init(productID: String, transactionID: String, purchaseDate: UTCDate) {
        self.productID = productID
        self.transactionID = transactionID
        self.originalTransactionID = transactionID
        self.purchaseDate = purchaseDate
        self.originalPurchaseDate = purchaseDate
    }
}
