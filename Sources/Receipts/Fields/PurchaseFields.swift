// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The attributes of one in-app purchase. Texts are ranges in the receipt; an absent attribute is nil.
struct PurchaseFields: Sendable {
    let attributes: TextRange
    private(set) var productID = TextRange.absent
    private(set) var transactionID = TextRange.absent
    private(set) var originalTransactionID = TextRange.absent
    private(set) var promotionalOfferID = TextRange.absent
    private(set) var purchaseDate: Timestamp?
    private(set) var originalPurchaseDate: Timestamp?
    private(set) var expiresDate: Timestamp?
    private(set) var cancellationDate: Timestamp?
    private(set) var quantity: Int64?
    private(set) var productType: Int64?
    private(set) var inAppAdamID: Int64?
    private(set) var webOrderLineItemID: Int64?
    private(set) var cancellationReason: Int64?
    private(set) var isTrialPeriod: Bool?
    private(set) var isInIntroOfferPeriod: Bool?
    private(set) var undocumented1722: Int64?

    /// Reads the SET in the value of an attribute 17. Product and transaction are required.
    init(_ reader: borrowing FieldReader, in range: Range<Int>, limits: Limits) throws(ReceiptError) {
        attributes = TextRange(range)
        var seen = SeenAttributes(first: 1700, limit: limits.maximumOtherAttributes)
        var slices = try AttributeReader(reader.receipt, in: range)
        while let attribute = try slices.next() {
            try seen.insert(attribute.type)
            switch attribute.type {
            case AttributeType.quantity: quantity = try reader.integer(attribute)
            case AttributeType.productID: productID = try reader.text(attribute)
            case AttributeType.transactionID: transactionID = try reader.text(attribute)
            case AttributeType.purchaseDate: purchaseDate = try reader.date(attribute)
            case AttributeType.originalTransactionID: originalTransactionID = try reader.text(attribute)
            case AttributeType.originalTransactionDate: originalPurchaseDate = try reader.date(attribute)
            case AttributeType.productType: productType = try reader.integer(attribute)
            case AttributeType.expiresDate: expiresDate = try reader.date(attribute)
            case AttributeType.inAppAdamID: inAppAdamID = try reader.integer(attribute)
            case AttributeType.webOrderLineItemID: webOrderLineItemID = try reader.integer(attribute)
            case AttributeType.cancellationDate: cancellationDate = try reader.date(attribute)
            case AttributeType.isTrialPeriod: isTrialPeriod = try reader.flag(attribute)
            case AttributeType.isInIntroOfferPeriod: isInIntroOfferPeriod = try reader.flag(attribute)
            case AttributeType.cancellationReason: cancellationReason = try reader.integer(attribute)
            case AttributeType.promotionalOfferID: promotionalOfferID = try reader.text(attribute)
            // Undocumented by Apple, so another form of it breaks no rule.
            case AttributeType.undocumented1722: undocumented1722 = try? reader.integer(attribute)
            default: break  // Kept where it stands; see `InAppPurchase.otherAttributes`.
            }
        }
        try require(productID, AttributeType.productID)
        try require(transactionID, AttributeType.transactionID)
    }
}

func require(_ text: TextRange, _ type: Int) throws(ReceiptError) {
    guard !text.isAbsent else { throw ReceiptError(.attributeMissing, at: .attribute(type)) }
}
