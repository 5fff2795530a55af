// SPDX-License-Identifier: Apache-2.0

/// The in-app purchases of a receipt; each is decoded on access.
public struct InAppPurchases: RandomAccessCollection, Sendable {
    let receipt: [UInt8]
    let fields: [PurchaseFields]

    /// The first index, 0.
    public var startIndex: Int { 0 }
    /// The number of purchases.
    public var endIndex: Int { fields.count }
    /// The purchase at an index.
    public subscript(index: Int) -> InAppPurchase { InAppPurchase(receipt: receipt, fields: fields[index]) }
}

/// One purchase or renewal of a verified receipt. Names follow Apple's `verifyReceipt` response.
public struct InAppPurchase: Sendable, Confidential {
    let receipt: [UInt8]
    let fields: PurchaseFields

    /// The identifier of the product.
    public var productID: String { fields.productID.text(in: receipt) ?? "" }
    /// The identifier of this purchase or renewal.
    public var transactionID: String { fields.transactionID.text(in: receipt) ?? "" }
    /// The identifier of the chain's first transaction.
    public var originalTransactionID: String? { fields.originalTransactionID.text(in: receipt) }
    /// The redeemed promotional offer.
    public var promotionalOfferID: String? { fields.promotionalOfferID.text(in: receipt) }
    /// The number bought.
    public var quantity: Int64? { fields.quantity }
    /// The time the customer was charged.
    public var purchaseDate: Timestamp? { fields.purchaseDate }
    /// The purchase time of the chain's first transaction.
    public var originalPurchaseDate: Timestamp? { fields.originalPurchaseDate }
    /// The end of the subscription period; nil for other products.
    public var expiresDate: Timestamp? { fields.expiresDate }
    /// The time Apple refunded or revoked the transaction.
    public var cancellationDate: Timestamp? { fields.cancellationDate }
    /// The reason of the cancellation: 1 for an issue with the app, 0 for another reason.
    public var cancellationReason: Int64? { fields.cancellationReason }
    /// The number of the subscription purchase across devices; nil where the receipt has 0.
    public var webOrderLineItemID: Int64? { fields.webOrderLineItemID == 0 ? nil : fields.webOrderLineItemID }
    /// The product's number in the App Store.
    public var inAppAdamID: Int64? { fields.inAppAdamID }
    /// True if the period is a free trial.
    public var isTrialPeriod: Bool? { fields.isTrialPeriod }
    /// True if the period is at an introductory price.
    public var isInIntroOfferPeriod: Bool? { fields.isInIntroOfferPeriod }
    /// The kind of product; nil if absent or not one of Apple's documented numbers.
    public var productType: ProductType? { fields.productType.flatMap(ProductType.init(rawValue:)) }
    /// Attribute 1722, undocumented by Apple: in receipts since December 2021, and 0 in all that were seen.
    /// It may be the ownership. That is unproven, so nothing is derived from it. Nil if absent or no INTEGER.
    public var attribute1722: Int64? { fields.undocumented1722 }

    /// The undecoded attributes without a property here, attribute 1722 included.
    public var otherAttributes: [ReceiptAttribute] {
        ReceiptAttribute.all(in: fields.attributes.range, of: receipt, except: AttributeType.ofPurchase)
    }
    /// Returns true for a purchase of the same product in the same receipt. No text is made.
    package func isOfSameProduct(as other: InAppPurchase) -> Bool {
        receipt.span.equals(fields.productID.range, other.fields.productID.range)
    }

    /// Returns true for a purchase of the same chain in the same receipt. No text is made.
    package func isOfSameChain(as other: InAppPurchase) -> Bool {
        receipt.span.equals(fields.chainID.range, other.fields.chainID.range)
    }
}

/// The kinds of in-app purchases, by Apple's numbers (attribute 1707).
public enum ProductType: Int64, Sendable {
    /// Bought once, kept for ever.
    case nonConsumable = 0
    /// Used up, and bought again.
    case consumable = 1
    /// A subscription whose period the app tracks itself.
    case nonRenewingSubscription = 2
    /// A subscription that renews until it is cancelled.
    case autoRenewableSubscription = 3
}

/// An undecoded attribute of a receipt.
public struct ReceiptAttribute: Hashable, Sendable {
    /// Apple's number of the attribute.
    public let type: Int
    /// The version of the attribute: 1, and 2 for the opaque value.
    public let version: Int
    /// The undecoded value.
    public let value: [UInt8]

    static func all(in range: Range<Int>, of receipt: [UInt8], except named: Set<Int>) -> [ReceiptAttribute] {
        var attributes: [ReceiptAttribute] = []
        // Verification has read the same bytes with the same reader, so this cannot fail.
        guard var slices = try? AttributeReader(receipt.span, in: range) else { return [] }
        while let slice = try? slices.next() {
            guard !named.contains(slice.type) else { continue }
            attributes.append(
                ReceiptAttribute(type: slice.type, version: slice.version, value: Array(receipt[slice.value])))
        }
        return attributes
    }
}
