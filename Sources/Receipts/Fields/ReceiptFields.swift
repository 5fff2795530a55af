// SPDX-License-Identifier: Apache-2.0

/// The attributes of a receipt. Texts are ranges in the receipt; an absent attribute is nil.
struct ReceiptFields: Sendable {
    private(set) var receiptType = TextRange.absent
    private(set) var bundleID = TextRange.absent
    private(set) var applicationVersion = TextRange.absent
    private(set) var originalApplicationVersion = TextRange.absent
    private(set) var ageRating = TextRange.absent
    private(set) var opaqueValue = TextRange.absent
    private(set) var deviceHash = TextRange.absent
    /// The bundle ID's whole value, tag and length included, as the device hash covers it.
    private(set) var encodedBundleID = TextRange.absent
    private(set) var creationDate: Timestamp
    private(set) var originalReceiptCreationDate: Timestamp?
    private(set) var originalPurchaseDate: Timestamp?
    private(set) var expirationDate: Timestamp?
    private(set) var preorderDate: Timestamp?
    private(set) var adamID: Int64?
    private(set) var developerID: Int64?
    private(set) var downloadID: Int64?
    private(set) var versionExternalIdentifier: Int64?
    private(set) var purchases: [PurchaseFields] = []

    /// Purchases take about 400 bytes each, more than their fields take in memory.
    private static let typicalPurchaseByteCount = 380

    /// Reads the payload in `range`, whose signature must have been verified.
    init(
        _ receipt: Span<UInt8>, in range: Range<Int>, acceptsOffsets: Bool, limits: Limits
    ) throws(ReceiptError) {
        creationDate = .earliest
        purchases.reserveCapacity(range.count / Self.typicalPurchaseByteCount)
        let reader = FieldReader(receipt, acceptsOffsets: acceptsOffsets)
        var seen = SeenAttributes(first: 0, limit: limits.maximumOtherAttributes)
        var slices = try AttributeReader(receipt, in: range)
        while let attribute = try slices.next() {
            if attribute.type == AttributeType.inAppPurchase {
                guard purchases.count < limits.maximumPurchases else { throw ReceiptError(.tooManyPurchases) }
                purchases.append(try PurchaseFields(reader, in: attribute.value, limits: limits))
            } else {
                try seen.insert(attribute.type)
                try read(attribute, reader)
            }
        }
        try require(receiptType, AttributeType.receiptType)
        try require(bundleID, AttributeType.bundleID)
        guard creationDate != .earliest else {
            throw ReceiptError(.attributeMissing, at: .attribute(AttributeType.creationDate))
        }
    }

    private mutating func read(_ attribute: AttributeSlice, _ reader: borrowing FieldReader) throws(ReceiptError) {
        switch attribute.type {
        case AttributeType.receiptType: receiptType = try reader.text(attribute)
        case AttributeType.adamID: adamID = try reader.integer(attribute)
        case AttributeType.bundleID:
            bundleID = try reader.text(attribute)
            encodedBundleID = TextRange(attribute.value)
        case AttributeType.applicationVersion: applicationVersion = try reader.text(attribute)
        case AttributeType.opaqueValue: opaqueValue = TextRange(attribute.value)
        case AttributeType.deviceHash: deviceHash = TextRange(attribute.value)
        case AttributeType.originalReceiptCreationDate: originalReceiptCreationDate = try reader.date(attribute)
        case AttributeType.ageRating: ageRating = try reader.text(attribute)
        case AttributeType.developerID: developerID = try reader.integer(attribute)
        case AttributeType.creationDate: creationDate = try reader.date(attribute) ?? .earliest
        case AttributeType.downloadID: downloadID = try reader.integer(attribute)
        case AttributeType.versionExternalIdentifier: versionExternalIdentifier = try reader.integer(attribute)
        case AttributeType.originalPurchaseDate: originalPurchaseDate = try reader.date(attribute)
        case AttributeType.originalApplicationVersion: originalApplicationVersion = try reader.text(attribute)
        case AttributeType.expirationDate: expirationDate = try reader.date(attribute)
        case AttributeType.preorderDate: preorderDate = try reader.date(attribute)
        default: break  // Kept where it stands; see `VerifiedReceipt.otherAttributes`.
        }
    }
}

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
            // Undocumented by Apple, so another form breaks no rule.
            case AttributeType.undocumented1722: undocumented1722 = try? reader.integer(attribute)
            default: break  // Kept where it stands; see `InAppPurchase.otherAttributes`.
            }
        }
        try require(productID, AttributeType.productID)
        try require(transactionID, AttributeType.transactionID)
    }

    /// The original transaction ID, or the transaction's own.
    var chainID: TextRange { originalTransactionID.isAbsent ? transactionID : originalTransactionID }
}

func require(_ text: TextRange, _ type: Int) throws(ReceiptError) {
    guard !text.isAbsent else { throw ReceiptError(.attributeMissing, at: .attribute(type)) }
}
