// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

extension ReceiptContents {
    /// Copies the contents of a genuine receipt, to issue it again. Opaque values are not copied: a new receipt has new
    /// opaque values.
    init(_ receipt: VerifiedReceipt) {
        self.init(bundleID: receipt.bundleID, creationDate: UTCDate(receipt.creationDate))
        receiptType = receipt.receiptType
        adamID = receipt.adamID ?? 0
        applicationVersion = receipt.applicationVersion ?? ""
        originalApplicationVersion = receipt.originalApplicationVersion ?? ""
        ageRating = receipt.ageRating ?? ""
        developerID = receipt.developerID ?? 0
        downloadID = receipt.downloadID ?? 0
        versionExternalIdentifier = receipt.versionExternalIdentifier ?? 0
        originalPurchaseDate = receipt.originalPurchaseDate.map(UTCDate.init) ?? originalPurchaseDate
        expirationDate = receipt.expirationDate.map(UTCDate.init)
        preorderDate = receipt.preorderDate.map(UTCDate.init)
        purchases = receipt.purchases.map(PurchaseContents.init)
    }
}

extension PurchaseContents {
    fileprivate init(_ purchase: InAppPurchase) {
        self.init(
            productID: purchase.productID, transactionID: purchase.transactionID,
            purchaseDate: purchase.purchaseDate.map(UTCDate.init) ?? UTCDate(1970, 1, 1))
        quantity = purchase.quantity ?? 1
        originalTransactionID = purchase.originalTransactionID ?? transactionID
        originalPurchaseDate = purchase.originalPurchaseDate.map(UTCDate.init) ?? purchaseDate
        expiresDate = purchase.expiresDate.map(UTCDate.init)
        cancellationDate = purchase.cancellationDate.map(UTCDate.init)
        cancellationReason = purchase.cancellationReason.flatMap(CancellationReason.init(rawValue:))
        webOrderLineItemID = purchase.webOrderLineItemID ?? 0
        isTrialPeriod = purchase.isTrialPeriod
        isInIntroOfferPeriod = purchase.isInIntroOfferPeriod
        promotionalOfferID = purchase.promotionalOfferID
        attribute1722 = purchase.attribute1722 ?? 0
        productType = (purchase.productType?.rawValue).flatMap(ProductType.init(rawValue:))
    }
}

extension TransactionReceiptContents {
    /// Copies the contents of a genuine transaction receipt, to answer and issue it again.
    init(_ receipt: VerifiedTransactionReceipt) {
        self.init(
            bundleID: receipt.bundleID, productID: receipt.productID, transactionID: receipt.transactionID,
            purchaseDate: UTCDate.exact(receipt.purchaseDate))
        purchase.originalTransactionID = receipt.originalTransactionID ?? receipt.transactionID
        purchase.originalPurchaseDate = receipt.originalPurchaseDate.map(UTCDate.exact) ?? purchase.purchaseDate
        purchase.expiresDate = receipt.expiresDate.map(UTCDate.exact)
        purchase.cancellationDate = receipt.cancellationDate.map(UTCDate.exact)
        purchase.quantity = receipt.quantity ?? 1
        purchase.webOrderLineItemID = receipt.webOrderLineItemID.flatMap { Int64($0) } ?? 0
        purchase.isTrialPeriod = receipt.isTrialPeriod
        purchase.isInIntroOfferPeriod = receipt.isInIntroOfferPeriod
        applicationVersion = receipt.applicationVersion
        itemID = receipt.itemID
        appItemID = receipt.appItemID
        versionExternalIdentifier = receipt.versionExternalIdentifier
        uniqueIdentifier = receipt.uniqueIdentifier
        uniqueVendorIdentifier = receipt.uniqueVendorIdentifier
        environment = receipt.unsignedEnvironment ?? Environment.production.rawValue
    }

    /// The contents that a transaction receipt for a purchase in an app receipt would have.
    init(_ purchase: PurchaseContents, in receipt: ReceiptContents) {
        self.init(bundleID: receipt.bundleID, purchase: purchase)
        applicationVersion = receipt.applicationVersion
        itemID = String(receipt.adamID)
        uniqueIdentifier = "0000000000000000000000000000000000000000"
        uniqueVendorIdentifier = nil
    }

    /// Returns the contents with another purchase or period of the same app and device.
    func with(_ purchase: PurchaseContents) -> TransactionReceiptContents {
        var contents = self
        contents.purchase = purchase
        return contents
    }
}

extension ReceiptContents {
    /// An app receipt with the purchase of a transaction receipt.
    init(_ transaction: TransactionReceiptContents) {
        self.init(bundleID: transaction.bundleID, creationDate: transaction.purchase.purchaseDate)
        purchases = [transaction.purchase]
    }
}
