// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Xcode writes fewer attributes, in ascending order of their numbers instead of a DER SET's order.
extension ReceiptContents {
    var xcodePayload: [UInt8] {
        let head: [AttributeTemplate] = [
            .text(.receiptType, "Xcode"),
            .integer(.adamID, adamID),
            .text(.bundleID, bundleID),
            .text(.applicationVersion, applicationVersion),
            AttributeTemplate(.opaqueValue, value: Array(opaqueValue.prefix(8))),
            AttributeTemplate(.deviceHash, value: xcodeDeviceHash),
            .date(.originalCreationDate, nil),
            .date(.creationDate, creationDate),
        ]
        let tail = [AttributeTemplate.date(.expirationDate, expirationDate ?? UTCDate(4001, 1, 1))]
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
    var xcodeAttribute: AttributeTemplate {
        let attributes: [AttributeTemplate] = [
            .integer(.quantity, quantity),
            .text(.productID, productID),
            .text(.transactionID, transactionID),
            .date(.purchaseDate, purchaseDate),
            .date(.expiresDate, expiresDate),
            .flag(.isInIntroOfferPeriod, isInIntroOfferPeriod ?? false),
        ]
        return AttributeTemplate(.inAppPurchase, AttributeSet(attributes: attributes, order: .asWritten).element)
    }
}
