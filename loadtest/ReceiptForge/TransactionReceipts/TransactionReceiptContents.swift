// SPDX-License-Identifier: Apache-2.0

/// The contents of a transaction receipt, as in iOS 6: one purchase.
package struct TransactionReceiptContents: Sendable, Hashable {
    package var bundleID: String
    package var productID: String
    /// The identifier of this purchase or renewal, decimal digits.
    package var transactionID: String
    /// The identifier of the first purchase of the chain.
    package var originalTransactionID: String
    package var purchaseDate: UTCDate
    package var originalPurchaseDate: UTCDate
    /// The end of the subscription period; nil for everything but subscriptions.
    package var expiresDate: UTCDate?
    package var cancellationDate: UTCDate?
    package var cancellationReason: PurchaseContents.CancellationReason?
    package var applicationVersion: String? = "1.0"
    package var quantity: Int64? = 1
    package var itemID: String? = "1000000001"
    package var webOrderLineItemID: String?
    package var appItemID: String?
    package var versionExternalIdentifier: String?
    /// The identifier of the device, and that for the vendor of the app.
    package var uniqueIdentifier: String? = "0123456789abcdef0123456789abcdef01234567"
    package var uniqueVendorIdentifier: String? = "00000000-0000-4000-8000-000000000000"
    package var isTrialPeriod: Bool?
    package var isInIntroOfferPeriod: Bool?
    /// The unsigned environment.
    package var environment = "Sandbox"

    /// Creates a purchase that is the first of its chain.
    package init(bundleID: String, productID: String, transactionID: String, purchaseDate: UTCDate) {
        self.bundleID = bundleID
        self.productID = productID
        self.transactionID = transactionID
        originalTransactionID = transactionID
        self.purchaseDate = purchaseDate
        originalPurchaseDate = purchaseDate
    }
}

extension TransactionReceiptContents {
    /// `purchase-info` before base64.
    var purchaseInfo: ForgedPropertyList {
        ForgedPropertyList(dates + identity + flags)
    }

    private var dates: [ForgedPropertyList.Member] {
        forms(of: originalPurchaseDate, "original-purchase-date") + forms(of: purchaseDate, "purchase-date")
            + (cancellationDate.map { forms(of: $0, "cancellation-date") } ?? []) + expiry
    }

    private func forms(of date: UTCDate, _ name: String) -> [ForgedPropertyList.Member] {
        [.init(name + "-pst", date.pacificText), .init(name + "-ms", date.millisecondsText), .init(name, date.text)]
    }

    private var expiry: [ForgedPropertyList.Member] {
        guard let expiresDate else { return [] }
        return [
            .init("expires-date", expiresDate.millisecondsText),
            .init("expires-date-formatted-pst", expiresDate.pacificText),
            .init("expires-date-formatted", expiresDate.text),
        ]
    }

    private var identity: [ForgedPropertyList.Member] {
        [
            .init("unique-identifier", uniqueIdentifier),
            .init("original-transaction-id", originalTransactionID),
            .init("transaction-id", transactionID),
            .init("web-order-line-item-id", webOrderLineItemID),
            .init("bvrs", applicationVersion),
            .init("unique-vendor-identifier", uniqueVendorIdentifier),
            .init("item-id", itemID),
            .init("app-item-id", appItemID),
            .init("version-external-identifier", versionExternalIdentifier),
            .init("product-id", productID),
            .init("bid", bundleID),
        ].compactMap(\.self)
    }

    private var flags: [ForgedPropertyList.Member] {
        [
            .init("is-trial-period", isTrialPeriod.map { "\($0)" }),
            .init("is-in-intro-offer-period", isInIntroOfferPeriod.map { "\($0)" }),
            .init("cancellation-reason", cancellationReason.map { "\($0.rawValue)" }),
            .init("quantity", quantity.map { "\($0)" }),
        ].compactMap(\.self)
    }
}

extension UTCDate {
    fileprivate var millisecondsText: String { "\(millisecondsSince1970)" }

    /// `2015-11-18 04:34:41 Etc/GMT`
    fileprivate var text: String { "\(dateAndTime) Etc/GMT" }

    fileprivate var pacificText: String { "\(inLosAngeles.dateAndTime) America/Los_Angeles" }

    private var dateAndTime: String {
        String(rfc3339.dropLast().map { $0 == "T" ? " " : $0 })
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
