// SPDX-License-Identifier: Apache-2.0

/// The contents of an app receipt before signing.
package struct ReceiptContents: Sendable, Hashable {
    /// `Production`, `ProductionVPP`, `ProductionSandbox`, `ProductionVPPSandbox`, `Sandbox`, or `Xcode`.
    package var receiptType = "ProductionSandbox"
    /// The app's number in the App Store; 0 in the sandbox.
    package var adamID: Int64 = 0
    package var bundleID: String
    /// The app's `CFBundleVersion`.
    package var applicationVersion = "1"
    /// The salt of the device hash, 16 bytes in genuine receipts.
    package var opaqueValue: [UInt8]
    /// The vendor identifier of the device, 16 bytes; only its hash enters the receipt.
    package var deviceIdentifier: [UInt8]
    /// Undocumented raw bytes, 30 to 60 of them.
    package var opaque6: [UInt8]
    /// Undocumented raw bytes, 30 to 60 of them.
    package var opaque7: [UInt8]
    /// The time of issue, at which the certificates must be valid.
    package var creationDate: UTCDate
    package var ageRating = "4+"
    /// The developer's number; 0 in the sandbox.
    package var developerID: Int64 = 0
    /// The number of the download, up to 60 bits; 0 in the sandbox.
    package var downloadID: Int64 = 0
    /// The number of the app's version in the App Store; 0 in the sandbox.
    package var versionExternalIdentifier: Int64 = 0
    /// The time the app was first bought. Apple's sandbox always has 2013-08-01T07:00:00Z.
    package var originalPurchaseDate = UTCDate(2013, 8, 1, 7)
    /// The version first bought. Apple's sandbox always has 1.0.
    package var originalApplicationVersion = "1.0"
    /// The end of a volume licence.
    package var expirationDate: UTCDate?
    package var preorderDate: UTCDate?
    package var unknownAttributes: [AttributeTemplate] = []
    package var purchases: [PurchaseContents] = []

    /// Creates the receipt of a free app without purchases. Opaque bytes are derived from the bundle ID.
    package init(bundleID: String, creationDate: UTCDate) {
        var generator = SplitMix64(seed: 0, purpose: bundleID)
        self.bundleID = bundleID
        self.creationDate = creationDate
        opaqueValue = generator.bytes(count: 16)
        deviceIdentifier = generator.bytes(count: 16)
        opaque6 = generator.bytes(count: 55)
        opaque7 = generator.bytes(count: 54)
    }
}

extension ReceiptContents {
    var payload: [UInt8] {
        attributeSet.element.encoded
    }

    /// The attributes of a genuine receipt. Attributes 21 and 32 are omitted if absent, unlike the dates of a purchase.
    /// Attributes 9, 13, 14, 20 and 25 are undocumented; 9 holds letters and digits in an INTEGER.
    var attributeSet: AttributeSet {
        let all: [AttributeTemplate?] = [
            .text(.receiptType, receiptType),
            .integer(.adamID, adamID),
            .text(.bundleID, bundleID),
            .text(.applicationVersion, applicationVersion),
            .text(.originalApplicationVersion, originalApplicationVersion),
            AttributeTemplate(.ageRating, .ia5String(ageRating)),
            .integer(.developerID, developerID),
            .integer(.downloadID, downloadID),
            .integer(.versionExternalIdentifier, versionExternalIdentifier),
            AttributeTemplate(.opaqueValue, version: 2, value: opaqueValue),
            AttributeTemplate(.deviceHash, value: deviceHash),
            AttributeTemplate(.opaque6, value: opaque6),
            AttributeTemplate(.opaque7, value: opaque7),
            .date(.originalCreationDate, nil),
            .date(.creationDate, creationDate),
            .date(.originalPurchaseDate, originalPurchaseDate),
            expirationDate.map { .date(.expirationDate, $0) },
            preorderDate.map { .date(.preorderDate, $0) },
            AttributeTemplate(9, .integer(magnitude: Array("P305".utf8))),
            .integer(13, 180_602),
            .integer(14, 229),
            .text(20, ""),
            .integer(25, 3),
        ]
        return AttributeSet(attributes: all.compactMap(\.self) + unknownAttributes + purchases.map(\.attribute))
    }

    /// Attribute 5, as an app checks it on its device: SHA-1(device identifier ‖ opaque value ‖ bundle ID attribute).
    var deviceHash: [UInt8] {
        let bundle = DERNode.utf8String(bundleID).encoded
        return SigningDigest.sha1.hash(deviceIdentifier + opaqueValue + bundle)
    }
}

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
        return AttributeSet(attributes: attributes, isSorted: false).element.encoded
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
        return AttributeTemplate(.inAppPurchase, AttributeSet(attributes: attributes, isSorted: false).element)
    }
}
