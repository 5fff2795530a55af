// SPDX-License-Identifier: Apache-2.0

/// Apple's numbers of receipt attributes ("Receipt fields"; numbers without a name there, from real receipts).
enum AttributeType {
    static let receiptType = 0  // UTF8String
    static let adamID = 1  // INTEGER, also called app_item_id
    static let bundleID = 2  // UTF8String
    static let applicationVersion = 3  // UTF8String
    static let opaqueValue = 4  // raw bytes
    static let deviceHash = 5  // raw bytes, SHA-1
    static let originalReceiptCreationDate = 8  // IA5String, of the receipt first made on the device
    static let ageRating = 10  // IA5String
    static let developerID = 11  // INTEGER
    static let creationDate = 12  // IA5String
    static let downloadID = 15  // INTEGER
    static let versionExternalIdentifier = 16  // INTEGER
    static let inAppPurchase = 17  // SET, the only attribute that may stand several times
    static let originalPurchaseDate = 18  // IA5String
    static let originalApplicationVersion = 19  // UTF8String
    static let expirationDate = 21  // IA5String, volume purchases only
    static let preorderDate = 32  // IA5String

    static let quantity = 1701  // INTEGER
    static let productID = 1702  // UTF8String
    static let transactionID = 1703  // UTF8String
    static let purchaseDate = 1704  // IA5String
    static let originalTransactionID = 1705  // UTF8String
    static let originalTransactionDate = 1706  // IA5String, original_purchase_date
    static let productType = 1707  // INTEGER
    static let expiresDate = 1708  // IA5String
    static let inAppAdamID = 1710  // INTEGER
    static let webOrderLineItemID = 1711  // INTEGER
    static let cancellationDate = 1712  // IA5String
    static let isTrialPeriod = 1713  // INTEGER
    static let isInIntroOfferPeriod = 1719  // INTEGER
    static let cancellationReason = 1720  // INTEGER
    static let promotionalOfferID = 1721  // UTF8String
    static let undocumented1722 = 1722  // INTEGER; 0 in all receipts seen

    /// The types that `ReceiptFields` names.
    static let ofReceipt: Set<Int> = [
        receiptType, adamID, bundleID, applicationVersion, opaqueValue, deviceHash, originalReceiptCreationDate,
        ageRating, developerID, creationDate, downloadID, versionExternalIdentifier, inAppPurchase,
        originalPurchaseDate, originalApplicationVersion, expirationDate, preorderDate,
    ]

    /// The types that `PurchaseFields` names.
    static let ofPurchase: Set<Int> = [
        quantity, productID, transactionID, purchaseDate, originalTransactionID, originalTransactionDate, productType,
        expiresDate, inAppAdamID, webOrderLineItemID, cancellationDate, isTrialPeriod, isInIntroOfferPeriod,
        cancellationReason, promotionalOfferID,
    ]
}
