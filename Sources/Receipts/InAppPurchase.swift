// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The in-app purchases of a receipt; each is read out of the receipt when it is asked for.
public struct InAppPurchases: RandomAccessCollection, Sendable {
    private let receipt: [UInt8]
    private let fields: [PurchaseFields]

    init(receipt: [UInt8], fields: [PurchaseFields]) {
        self.receipt = receipt
        self.fields = fields
    }

    /// 0.
    public var startIndex: Int { 0 }
    /// The number of purchases.
    public var endIndex: Int { fields.count }
    /// The purchase at an index.
    public subscript(index: Int) -> InAppPurchase { InAppPurchase(receipt: receipt, fields: fields[index]) }
}

/// One purchase or renewal, as it stands in a verified receipt. Names follow Apple's `verifyReceipt` answer.
public struct InAppPurchase: Sendable {
    private let receipt: [UInt8]
    private let fields: PurchaseFields

    init(receipt: [UInt8], fields: PurchaseFields) {
        self.receipt = receipt
        self.fields = fields
    }

    /// What was bought.
    public var productID: String { fields.productID.text(in: receipt) ?? "" }
    /// This purchase or renewal.
    public var transactionID: String { fields.transactionID.text(in: receipt) ?? "" }
    /// The first transaction of the chain this one belongs to.
    public var originalTransactionID: String? { fields.originalTransactionID.text(in: receipt) }
    /// The promotional offer that was redeemed.
    public var promotionalOfferID: String? { fields.promotionalOfferID.text(in: receipt) }
    /// How many were bought.
    public var quantity: Int64? { fields.quantity }
    /// When the customer was charged.
    public var purchaseDate: Timestamp? { fields.purchaseDate }
    /// When the first transaction of the chain was bought.
    public var originalPurchaseDate: Timestamp? { fields.originalPurchaseDate }
    /// When the subscription period ends; nil for what is no subscription.
    public var expiresDate: Timestamp? { fields.expiresDate }
    /// When Apple refunded or revoked the transaction.
    public var cancellationDate: Timestamp? { fields.cancellationDate }
    /// Why: 1 for an issue with the app, 0 for another reason.
    public var cancellationReason: Int64? { fields.cancellationReason }
    /// The number of the subscription purchase across devices; 0 stands for none and is nil here.
    public var webOrderLineItemID: Int64? { fields.webOrderLineItemID == 0 ? nil : fields.webOrderLineItemID }
    /// The product's number in the App Store.
    public var inAppAdamID: Int64? { fields.inAppAdamID }
    /// Whether the period is a free trial.
    public var isTrialPeriod: Bool? { fields.isTrialPeriod }
    /// Whether the period is at an introductory price.
    public var isInIntroOfferPeriod: Bool? { fields.isInIntroOfferPeriod }
    /// What kind of product was bought; nil if Apple did not say or gave a number without a meaning.
    public var productType: ProductType? { fields.productType.flatMap(ProductType.init(rawValue:)) }
    /// Attribute 1722, which Apple does not document: 0 in every receipt seen so far, which has it since December 2021.
    /// It may be the ownership. That is not proven, so nothing is derived from it. Nil if absent or no INTEGER.
    public var attribute1722: Int64? { fields.undocumented1722 }

    /// The attributes that have no name here, as they stand; attribute 1722 is among them.
    public var otherAttributes: [ReceiptAttribute] {
        ReceiptAttribute.all(in: fields.attributes.range, of: receipt, except: AttributeType.ofPurchase)
    }
}

extension InAppPurchase: CustomStringConvertible, CustomReflectable {
    /// No byte of the receipt, so that printing one gives nothing away.
    public var description: String { "InAppPurchase" }

    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The kinds of in-app purchases, by Apple's numbers (attribute 1707).
public enum ProductType: Int64, Sendable {
    /// Bought once, kept for ever.
    case nonConsumable = 0
    /// Used up.
    case consumable = 1
    /// A subscription that the app itself keeps the time of.
    case nonRenewingSubscription = 2
    /// A subscription that renews until it is cancelled.
    case autoRenewableSubscription = 3
}

/// An attribute as it stands in the receipt.
public struct ReceiptAttribute: Hashable, Sendable {
    /// Apple's number for what it is.
    public let type: Int
    /// The version of its form; 1, and 2 for the opaque value.
    public let version: Int
    /// Its value, undecoded.
    public let value: [UInt8]

    static func all(in range: Range<Int>, of receipt: [UInt8], except named: Set<Int>) -> [ReceiptAttribute] {
        var attributes: [ReceiptAttribute] = []
        // Verification has read the same bytes with the same reader, so it cannot fail here.
        guard var slices = try? AttributeReader(receipt.span, in: range) else { return [] }
        while let slice = try? slices.next() {
            guard !named.contains(slice.type) else { continue }
            attributes.append(
                ReceiptAttribute(type: slice.type, version: slice.version, value: Array(receipt[slice.value])))
        }
        return attributes
    }
}
