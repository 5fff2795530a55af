// SPDX-License-Identifier: Apache-2.0

/// The contents of one in-app purchase (attribute 17).
package struct PurchaseContents: Sendable, Hashable {
    /// Apple's numbers for attribute 1707.
    package enum ProductType: Int64, Sendable, Hashable, CaseIterable {
        /// Bought once, kept for ever.
        case nonConsumable = 0
        /// Used up; removed from the receipt once finished.
        case consumable = 1
        /// Valid for a time that only the app knows.
        case nonRenewingSubscription = 2
        /// Renewed by Apple until cancelled.
        case autoRenewableSubscription = 3
    }

    /// Apple's numbers for attribute 1720.
    package enum CancellationReason: Int64, Sendable, Hashable, CaseIterable {
        /// Another reason, for example bought by accident.
        case other = 0
        /// The customer found an issue in the app.
        case issueInApp = 1
    }

    package var quantity: Int64 = 1
    package var productID: String
    /// The identifier of this purchase or renewal, decimal digits.
    package var transactionID: String
    /// The identifier of the first purchase of the chain.
    package var originalTransactionID: String
    /// The time this period was bought.
    package var purchaseDate: UTCDate
    /// The time the first period was bought.
    package var originalPurchaseDate: UTCDate
    /// The end of the subscription period; nil for everything but subscriptions.
    package var expiresDate: UTCDate?
    package var cancellationDate: UTCDate?
    package var cancellationReason: CancellationReason?
    /// The identifier of a subscription period across devices; 0 means none.
    package var webOrderLineItemID: Int64 = 0
    /// True in a free trial. Nil omits the attribute.
    package var isTrialPeriod: Bool? = false
    /// True in an introductory price period. Nil omits the attribute, as in receipts before 2017.
    package var isInIntroOfferPeriod: Bool? = false
    /// The subscription offer the customer redeemed.
    package var promotionalOfferID: String?
    /// Nil omits the attribute.
    package var productType: ProductType? = .autoRenewableSubscription
    /// Attribute 1722, undocumented by Apple; 0 in every genuine receipt seen so far.
    package var attribute1722: Int64 = 0

    /// Creates a purchase that is the first of its chain.
    package init(productID: String, transactionID: String, purchaseDate: UTCDate) {
        self.productID = productID
        self.transactionID = transactionID
        self.originalTransactionID = transactionID
        self.purchaseDate = purchaseDate
        self.originalPurchaseDate = purchaseDate
    }
}

extension PurchaseContents {
    /// Nil for none.
    package var webOrderLineItemText: String? { webOrderLineItemID == 0 ? nil : String(webOrderLineItemID) }

    var attribute: AttributeTemplate {
        AttributeTemplate(.inAppPurchase, AttributeSet(attributes: attributes).element)
    }

    var attributes: [AttributeTemplate] {
        let all: [AttributeTemplate?] = [
            .integer(.quantity, quantity),
            .text(.productID, productID),
            .text(.transactionID, transactionID),
            .text(.originalTransactionID, originalTransactionID),
            .integer(.inAppAdamID, 0),
            .integer(.webOrderLineItemID, webOrderLineItemID),
            .date(.purchaseDate, purchaseDate),
            .date(.originalTransactionPurchaseDate, originalPurchaseDate),
            .date(.expiresDate, expiresDate),
            .date(.cancellationDate, cancellationDate),
            productType.map { .integer(.productType, $0.rawValue) },
            isTrialPeriod.map { .flag(.isTrialPeriod, $0) },
            isInIntroOfferPeriod.map { .flag(.isInIntroOfferPeriod, $0) },
            cancellationReason.map { .integer(.cancellationReason, $0.rawValue) },
            promotionalOfferID.map { .text(.promotionalOfferID, $0) },
        ]
        // The undocumented attributes of every genuine purchase: six empty strings and an integer.
        let emptyTexts: [AttributeNumber] = [1709, 1714, 1715, 1716, 1717, 1718]
        return all.compactMap(\.self) + emptyTexts.map { .text($0, "") } + [.integer(1722, attribute1722)]
    }
}
