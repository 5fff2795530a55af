// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension ReceiptContents {
    /// The signed bytes.
    var payload: [UInt8] {
        attributeSet.element.encoded
    }

    var attributeSet: AttributeSet {
        AttributeSet(
            attributes: app + opaqueValues + dates + undocumented + unknownAttributes + purchases.map(\.attribute))
    }

    /// Attribute 5, as an app checks it on its device: SHA-1(device identifier ‖ opaque value ‖ bundle ID attribute).
    var deviceHash: [UInt8] {
        let bundle = DERElement.utf8String(bundleID).encoded
        return DigestAlgorithm.sha1.hash(deviceIdentifier + opaqueValue + bundle)
    }

    private var app: [ReceiptAttribute] {
        [
            .text(.receiptType, receiptType),
            .integer(.adamID, adamID),
            .text(.bundleID, bundleID),
            .text(.applicationVersion, applicationVersion),
            .text(.originalApplicationVersion, originalApplicationVersion),
            ReceiptAttribute(.ageRating, .ia5String(ageRating)),
            .integer(.developerID, developerID),
            .integer(.downloadID, downloadID),
            .integer(.versionExternalIdentifier, versionExternalIdentifier),
        ]
    }

    private var opaqueValues: [ReceiptAttribute] {
        [
            ReceiptAttribute(.opaqueValue, version: 2, value: opaqueValue),
            ReceiptAttribute(.deviceHash, value: deviceHash),
            ReceiptAttribute(.opaque6, value: opaque6),
            ReceiptAttribute(.opaque7, value: opaque7),
        ]
    }

    /// The dates. Attributes 21 and 32 are omitted if absent, unlike the dates of a purchase.
    private var dates: [ReceiptAttribute] {
        let always: [ReceiptAttribute] = [
            .date(.originalCreationDate, nil),
            .date(.creationDate, creationDate),
            .date(.originalPurchaseDate, originalPurchaseDate),
        ]
        return always
            + (expirationDate.map { [.date(.expirationDate, $0)] } ?? [])
            + (preorderDate.map { [.date(.preorderDate, $0)] } ?? [])
    }

    /// The undocumented attributes of every genuine receipt. Attribute 9 holds letters and digits in an INTEGER.
    private var undocumented: [ReceiptAttribute] {
        [
            ReceiptAttribute(9, .integer(magnitude: Array("P305".utf8))),
            .integer(13, 180_602),
            .integer(14, 229),
            .text(20, ""),
            .integer(25, 3),
        ]
    }
}
