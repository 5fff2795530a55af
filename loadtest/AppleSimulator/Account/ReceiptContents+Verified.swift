// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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
