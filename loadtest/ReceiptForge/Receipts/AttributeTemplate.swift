// SPDX-License-Identifier: Apache-2.0

/// `ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`
package struct AttributeTemplate: Sendable, Hashable {
    package var type: AttributeNumber
    /// 1 everywhere but in attribute 4 of Apple's receipts, where it is 2.
    package var version: Int64 = 1
    /// The bytes inside the `OCTET STRING`: another element, or raw bytes in attributes 4 to 7.
    package var value: [UInt8]
    /// Superfluous elements inside the SEQUENCE.
    var trailing: [DERNode] = []

    /// Creates an attribute with this value, unchecked.
    package init(_ type: AttributeNumber, version: Int64 = 1, value: [UInt8]) {
        self.type = type
        self.version = version
        self.value = value
    }

    var element: DERNode {
        .sequence(of: [.integer(type.rawValue), .integer(version), .octetString(value)] + trailing)
    }
}

extension AttributeTemplate {
    init(_ type: AttributeNumber, _ element: DERNode) {
        self.init(type, value: element.encoded)
    }

    static func text(_ type: AttributeNumber, _ text: String) -> Self { Self(type, .utf8String(text)) }
    static func integer(_ type: AttributeNumber, _ value: Int64) -> Self { Self(type, .integer(value)) }
    static func flag(_ type: AttributeNumber, _ value: Bool) -> Self { Self(type, .integer(value ? 1 : 0)) }

    /// A date; an absent date is an empty string, `16 00`, as Apple writes it.
    static func date(_ type: AttributeNumber, _ date: UTCDate?) -> Self {
        Self(type, .ia5String(date?.rfc3339 ?? ""))
    }
}

/// `Payload ::= SET OF ReceiptAttribute`: the content Apple signs, and also the value of each purchase.
package struct AttributeSet: Sendable {
    var attributes: [AttributeTemplate]
    /// True to sort by the encodings, as DER requires and genuine receipts do; Xcode does not.
    var isSorted = true

    var element: DERNode {
        let elements = attributes.map(\.element)
        return isSorted ? .set(of: elements) : .set(asWritten: elements)
    }

    mutating func remove(_ type: AttributeNumber) {
        attributes.removeAll { $0.type == type }
    }

    mutating func replace(with replacement: AttributeTemplate) {
        attributes = attributes.map { $0.type == replacement.type ? replacement : $0 }
    }
}

/// Apple's number of an attribute of a receipt or of a purchase.
package struct AttributeNumber: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral {
    /// Genuine numbers fit 32 bits; wider and negative numbers exist to be rejected.
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package init(integerLiteral value: Int64) {
        rawValue = value
    }
}

/// Attributes of the receipt itself.
extension AttributeNumber {
    static let receiptType: Self = 0
    static let adamID: Self = 1
    static let bundleID: Self = 2
    static let applicationVersion: Self = 3
    static let opaqueValue: Self = 4
    static let deviceHash: Self = 5
    static let opaque6: Self = 6
    static let opaque7: Self = 7
    static let originalCreationDate: Self = 8
    static let ageRating: Self = 10
    static let developerID: Self = 11
    static let creationDate: Self = 12
    static let downloadID: Self = 15
    static let versionExternalIdentifier: Self = 16
    static let inAppPurchase: Self = 17
    static let originalPurchaseDate: Self = 18
    static let originalApplicationVersion: Self = 19
    static let expirationDate: Self = 21
    static let preorderDate: Self = 32
}

/// Attributes of one purchase.
extension AttributeNumber {
    static let quantity: Self = 1701
    static let productID: Self = 1702
    static let transactionID: Self = 1703
    static let purchaseDate: Self = 1704
    static let originalTransactionID: Self = 1705
    static let originalTransactionPurchaseDate: Self = 1706
    static let productType: Self = 1707
    static let expiresDate: Self = 1708
    static let inAppAdamID: Self = 1710
    static let webOrderLineItemID: Self = 1711
    static let cancellationDate: Self = 1712
    static let isTrialPeriod: Self = 1713
    static let isInIntroOfferPeriod: Self = 1719
    static let cancellationReason: Self = 1720
    static let promotionalOfferID: Self = 1721
}
