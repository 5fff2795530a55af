// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Xcode writes fewer attributes, in ascending order of their numbers instead of a DER SET's order.
extension ReceiptContents {
    var xcodePayload: [UInt8] {
        let head: [ReceiptAttribute] = [
            .text(.receiptType, "Xcode"),
            .integer(.adamID, adamID),
            .text(.bundleID, bundleID),
            .text(.applicationVersion, applicationVersion),
            ReceiptAttribute(.opaqueValue, value: Array(opaqueValue.prefix(8))),
            ReceiptAttribute(.deviceHash, value: xcodeDeviceHash),
            .date(.originalCreationDate, nil),
            .date(.creationDate, creationDate),
        ]
        let tail = [ReceiptAttribute.date(.expirationDate, expirationDate ?? UTCDate(4001, 1, 1))]
        let attributes = head + purchases.map(\.xcodeAttribute) + tail
        return AttributeSet(attributes: attributes, order: .asWritten).element.encoded
    }

    private var xcodeDeviceHash: [UInt8] {
        var shortened = self
        shortened.opaqueValue = Array(opaqueValue.prefix(8))
        return shortened.deviceHash
    }
}

extension PurchaseContents {
    var xcodeAttribute: ReceiptAttribute {
        let attributes: [ReceiptAttribute] = [
            .integer(.quantity, quantity),
            .text(.productID, productID),
            .text(.transactionID, transactionID),
            .date(.purchaseDate, purchaseDate),
            .date(.expiresDate, expiresDate),
            .flag(.isInIntroOfferPeriod, isInIntroOfferPeriod ?? false),
        ]
        return ReceiptAttribute(.inAppPurchase, AttributeSet(attributes: attributes, order: .asWritten).element)
    }
}
