// SPDX-License-Identifier: Apache-2.0

/// A transaction receipt, as in iOS 6, signed by Apple or under an operator's trust anchor. Only a `ReceiptVerifier`
/// creates one.
///
/// It proves that the App Store sold this product in this app. The environment and the time of the signature are not
/// signed, so there are no properties for them. It is a bearer token, as an app receipt is.
public struct VerifiedTransactionReceipt: Sendable, Confidential {
    /// One signed field, its escapes undone.
    public struct Field: Hashable, Sendable {
        /// Apple's name, such as `product-id`.
        public let name: String
        /// The text, empty or not.
        public let value: String
    }

    /// The receipt as given to the verifier: the property list.
    public let bytes: [UInt8]
    /// SHA-256 of the signed data, which are the version byte and the decoded `purchase-info`.
    public let identity: Fingerprint
    /// Nil, because it is not signed; `sandbox` below a trust anchor that may not sign for production.
    public let environment: Environment?
    private let content: [UInt8]
    private let info: PurchaseInfo
    private let unsignedEnvironmentRange: Range<Int>?

    init(
        _ receipt: UnverifiedTransactionReceipt, identity: Fingerprint, info: PurchaseInfo, environment: Environment?
    ) {
        self.environment = environment
        bytes = receipt.bytes
        content = receipt.content
        unsignedEnvironmentRange = receipt.unsignedEnvironment
        self.identity = identity
        self.info = info
    }

    /// The version of the signature: 2, 3 or 4.
    public var version: Int { Int(content.first ?? 0) }

    /// The size of the receipt in memory, in bytes.
    public var byteCount: Int {
        bytes.count + content.count + info.fields.count * MemoryLayout<PurchaseInfo.Field>.stride
    }

    /// `Sandbox` or `Production` as the receipt says beside its signature. Not signed: the sender may have changed it.
    public var unsignedEnvironment: String? {
        unsignedEnvironmentRange.map { bytes.span.propertyListText(in: $0) }
    }

    /// The app of the purchase (`bid`).
    public var bundleID: String { text("bid") ?? "" }
    /// The version of the app (`bvrs`).
    public var applicationVersion: String? { text("bvrs") }
    /// The identifier of the product.
    public var productID: String { text("product-id") ?? "" }
    /// The identifier of this purchase or renewal.
    public var transactionID: String { text("transaction-id") ?? "" }
    /// The identifier of the chain's first transaction.
    public var originalTransactionID: String? { text("original-transaction-id") }
    /// The number of the subscription purchase across devices.
    public var webOrderLineItemID: String? { text("web-order-line-item-id") }
    /// The product's number in the App Store.
    public var itemID: String? { text("item-id") }
    /// The identifier of the device that bought the product (the UDID, until iOS 6).
    public var uniqueIdentifier: String? { text("unique-identifier") }
    /// The device's identifier for the vendor of the app.
    public var uniqueVendorIdentifier: String? { text("unique-vendor-identifier") }
    /// The app's number in the App Store.
    public var appItemID: String? { text("app-item-id") }
    /// The number of the app's version.
    public var versionExternalIdentifier: String? { text("version-external-identifier") }
    /// The number bought.
    public var quantity: Int64? { info.quantity }
    /// The time the customer was charged.
    public var purchaseDate: Timestamp { info.purchaseDate }
    /// The purchase time of the chain's first transaction.
    public var originalPurchaseDate: Timestamp? { info.originalPurchaseDate }
    /// The end of the subscription period; nil for other products.
    public var expiresDate: Timestamp? { info.expiresDate }
    /// The time Apple refunded or revoked the transaction.
    public var cancellationDate: Timestamp? { info.cancellationDate }
    /// True if the period is a free trial.
    public var isTrialPeriod: Bool? { info.isTrialPeriod }
    /// True if the period is at an introductory price.
    public var isInIntroOfferPeriod: Bool? { info.isInIntroOfferPeriod }

    /// All signed fields in their order.
    public var fields: [Field] {
        info.fields.map { field in
            let (name, value) = (field.name.range, field.value.range)
            return Field(
                name: content.span.propertyListText(in: name), value: content.span.propertyListText(in: value))
        }
    }

    private func text(_ name: StaticString) -> String? {
        info.value(of: name, in: content.span).map { content.span.propertyListText(in: $0) }
    }

    /// Contains no byte of the receipt.
    public var description: String { "VerifiedTransactionReceipt(version \(version))" }
}

extension VerifiedTransactionReceipt.Field: Confidential {
    /// Contains no byte of the receipt.
    public var description: String { "VerifiedTransactionReceipt.Field" }
}

// MARK: - Expectations

extension VerifiedTransactionReceipt {
    /// Throws unless the product was bought on this device (`unique-vendor-identifier`).
    /// - Parameter deviceIdentifier: the 16 bytes of `identifierForVendor`.
    public func check(deviceIdentifier: [UInt8]) throws(ReceiptError) {
        guard uniqueVendorIdentifier?.lowercased() == deviceIdentifier.uuidText else {
            throw ReceiptError(.deviceHashMismatch)
        }
    }
}
