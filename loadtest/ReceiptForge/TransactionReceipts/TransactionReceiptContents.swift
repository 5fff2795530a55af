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
    var purchaseInfo: ForgedPropertyList {
        ForgedPropertyList(dates + identity + flags)
    }

    private var dates: [ForgedPropertyList.Member] {
        forms(of: purchase.originalPurchaseDate, "original-purchase-date")
            + forms(of: purchase.purchaseDate, "purchase-date")
            + (purchase.cancellationDate.map { forms(of: $0, "cancellation-date") } ?? []) + expiry
    }

    private func forms(of date: UTCDate, _ name: String) -> [ForgedPropertyList.Member] {
        [.init(name + "-pst", date.pacificText), .init(name + "-ms", date.millisecondsText), .init(name, date.gmtText)]
    }

    private var expiry: [ForgedPropertyList.Member] {
        guard let end = purchase.expiresDate else { return [] }
        return [
            .init("expires-date", end.millisecondsText), .init("expires-date-formatted-pst", end.pacificText),
            .init("expires-date-formatted", end.gmtText),
        ]
    }

    private var identity: [ForgedPropertyList.Member] {
        [
            .init("unique-identifier", uniqueIdentifier),
            .init("original-transaction-id", purchase.originalTransactionID),
            .init("transaction-id", purchase.transactionID),
            .init("web-order-line-item-id", purchase.webOrderLineItemText),
            .init("bvrs", applicationVersion),
            .init("unique-vendor-identifier", uniqueVendorIdentifier),
            .init("item-id", itemID),
            .init("app-item-id", appItemID),
            .init("version-external-identifier", versionExternalIdentifier),
            .init("product-id", purchase.productID),
            .init("bid", bundleID),
        ].compactMap(\.self)
    }

    private var flags: [ForgedPropertyList.Member] {
        [
            .init("is-trial-period", purchase.isTrialPeriod.map { "\($0)" }),
            .init("is-in-intro-offer-period", purchase.isInIntroOfferPeriod.map { "\($0)" }),
            .init("cancellation-reason", purchase.cancellationReason.map { "\($0.rawValue)" }),
            .init("quantity", "\(purchase.quantity)"),
        ].compactMap(\.self)
    }
}

/// An OpenStep property list of texts, as Apple writes it.
package struct ForgedPropertyList: Sendable, Hashable {
    struct Member: Sendable, Hashable {
        var name: String
        /// The text between the quotes, its escapes included.
        var value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }

        /// Nil if there is no value.
        init?(_ name: String, _ value: String?) {
            guard let value else { return nil }
            self.init(name, value)
        }
    }

    var members: [Member]

    init(_ members: [Member]) {
        self.members = members
    }

    var text: String {
        "{\n" + members.map { "\t\"\($0.name)\" = \"\($0.value)\";\n" }.joined() + "}"
    }

    var encoded: [UInt8] { Array(text.utf8) }

    mutating func append(_ name: String, _ value: String) {
        members.append(Member(name, value))
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
    var unsignedMembers: [ForgedPropertyList.Member]

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
            [
                .init("signature", Base64Encoder.text(signatureBlob)),
                .init("purchase-info", Base64Encoder.text(purchaseInfo)),
            ] + unsignedMembers)
    }

    var encoded: [UInt8] { propertyList.encoded }
}
