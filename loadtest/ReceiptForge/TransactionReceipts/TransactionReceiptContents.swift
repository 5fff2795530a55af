// SPDX-License-Identifier: Apache-2.0

/// The contents of a transaction receipt, as in iOS 6: one purchase.
@dynamicMemberLookup
package struct TransactionReceiptContents: Sendable, Hashable {
    package var bundleID: String
    /// The purchase, which has no other attributes than a purchase in an app receipt.
    package var purchase: PurchaseContents
    package var applicationVersion: String? = "1.0"
    package var itemID: String? = "1000000001"
    package var appItemID: String?
    package var versionExternalIdentifier: String?
    /// The identifier of the device, and that for the vendor of the app.
    package var uniqueIdentifier: String? = "0123456789abcdef0123456789abcdef01234567"
    package var uniqueVendorIdentifier: String? = "00000000-0000-4000-8000-000000000000"
    /// The unsigned environment.
    package var environment = "Sandbox"

    package init(bundleID: String, purchase: PurchaseContents) {
        self.bundleID = bundleID
        self.purchase = purchase
    }

    /// Creates a purchase that is the first of its chain.
    package init(bundleID: String, productID: String, transactionID: String, purchaseDate: UTCDate) {
        let purchase = PurchaseContents(productID: productID, transactionID: transactionID, purchaseDate: purchaseDate)
        self.init(bundleID: bundleID, purchase: purchase)
        (self.purchase.isTrialPeriod, self.purchase.isInIntroOfferPeriod) = (nil, nil)
    }

    package subscript<Value>(dynamicMember member: WritableKeyPath<PurchaseContents, Value>) -> Value {
        get { purchase[keyPath: member] }
        set { purchase[keyPath: member] = newValue }
    }
}

extension TransactionReceiptContents {
    /// `purchase-info` before base64.
    package var purchaseInfo: ForgedPropertyList {
        var list = ForgedPropertyList()
        list.append(purchase.originalPurchaseDate, "original-purchase-date")
        list.append(purchase.purchaseDate, "purchase-date")
        list.append(purchase.cancellationDate, "cancellation-date")
        list.append([
            "expires-date": purchase.expiresDate?.millisecondsText,
            "expires-date-formatted-pst": purchase.expiresDate?.pacificText,
            "expires-date-formatted": purchase.expiresDate?.gmtText,
            "unique-identifier": uniqueIdentifier,
            "original-transaction-id": purchase.originalTransactionID,
            "transaction-id": purchase.transactionID,
            "web-order-line-item-id": purchase.webOrderLineItemText,
            "bvrs": applicationVersion,
            "unique-vendor-identifier": uniqueVendorIdentifier,
            "item-id": itemID,
            "app-item-id": appItemID,
            "version-external-identifier": versionExternalIdentifier,
            "product-id": purchase.productID,
            "bid": bundleID,
            "is-trial-period": purchase.isTrialPeriod?.description,
            "is-in-intro-offer-period": purchase.isInIntroOfferPeriod?.description,
            "cancellation-reason": purchase.cancellationReason?.rawValue.description,
            "quantity": purchase.quantity.description,
        ])
        return list
    }
}

/// An OpenStep property list of texts, as Apple writes it.
package struct ForgedPropertyList: Sendable, Hashable {
    /// The names, and the texts between the quotes, their escapes included.
    package var members: [NamedText] = []

    var text: String {
        "{\n" + members.map { "\t\"\($0.name)\" = \"\($0.value)\";\n" }.joined() + "}"
    }

    var encoded: [UInt8] { Array(text.utf8) }

    /// Appends members, except members without a value.
    mutating func append(_ values: KeyValuePairs<String, String?>) {
        members += values.compactMap { name, value in value.map { NamedText(name, $0) } }
    }

    /// Appends the three forms of a date; nothing for nil.
    mutating func append(_ date: UTCDate?, _ name: String) {
        append([name + "-pst": date?.pacificText, name + "-ms": date?.millisecondsText, name: date?.gmtText])
    }

    mutating func append(_ name: String, _ value: String) {
        members.append(NamedText(name, value))
    }

    mutating func remove(_ name: String) {
        members.removeAll { $0.name == name }
    }

    mutating func edit(_ name: String, _ change: (inout String) -> Void) {
        for index in members.indices where members[index].name == name { change(&members[index].value) }
    }

    mutating func replace(_ name: String, with value: String) {
        edit(name) { $0 = value }
    }
}

/// A transaction receipt that a fault can change after it was signed.
///
/// Its `signature` is the version, the RSA signature, the certificate's length and the certificate; signed are the
/// version and the decoded `purchase-info`.
package struct ForgedTransactionReceipt: Sendable {
    var version: UInt8
    var signature: [UInt8]
    var certificate: [UInt8]
    /// Nil for the certificate's own length.
    var declaredLength: UInt32?
    /// Bytes after the certificate.
    var trailingBytes: [UInt8] = []
    var purchaseInfo: [UInt8]
    var unsignedMembers: [NamedText]

    init(
        _ contents: TransactionReceiptContents, purchaseInfo: [UInt8]? = nil, version: UInt8, by key: RSAPrivateKey,
        certificate: [UInt8]
    ) {
        self.version = version
        self.certificate = certificate
        self.purchaseInfo = purchaseInfo ?? contents.purchaseInfo.encoded
        unsignedMembers = [
            .init("environment", contents.environment), .init("pod", "100"), .init("signing-status", "0"),
        ]
        signature = key.signature(over: [version] + self.purchaseInfo, digest: version == 4 ? .sha256 : .sha1)
    }

    var signatureBlob: [UInt8] {
        let length = declaredLength ?? UInt32(certificate.count)
        let lengthBytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: length >> UInt32(8 * $0)) }
        return [version] + signature + lengthBytes + certificate + trailingBytes
    }

    var propertyList: ForgedPropertyList {
        ForgedPropertyList(
            members: [
                .init("signature", Base64Encoder.text(signatureBlob)),
                .init("purchase-info", Base64Encoder.text(purchaseInfo)),
            ] + unsignedMembers)
    }

    var encoded: [UInt8] { propertyList.encoded }
}
