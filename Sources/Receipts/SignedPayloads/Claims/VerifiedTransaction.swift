// SPDX-License-Identifier: Apache-2.0

/// A signed transaction of StoreKit 2 (App Store Server API, `JWSTransactionDecodedPayload`). Only a
/// `ReceiptVerifier` creates one.
///
/// Unknown claims and values are kept as they are; all claims are in the payload.
public struct VerifiedTransaction: Sendable, Confidential {
    /// The verified JWS, with its payload.
    public let jws: VerifiedJWS
    /// The environment the customer bought in; nil if it is not signed, as in 2021.
    public let environment: Environment?
    /// The identifier of this purchase or renewal.
    public let transactionID: String
    /// The identifier of the chain's first transaction.
    public let originalTransactionID: String
    /// The app the customer bought in.
    public private(set) var bundleID: String
    /// The identifier of the product.
    public let productID: String
    /// The time Apple signed the transaction.
    public let signedDate: Timestamp
    /// `Auto-Renewable Subscription`, `Non-Consumable`, `Consumable` or `Non-Renewing Subscription`.
    public let type: String?
    /// The time the customer was charged, or the start of the period.
    public let purchaseDate: Timestamp?
    /// The purchase time of the chain's first transaction.
    public let originalPurchaseDate: Timestamp?
    /// The end of the subscription period; nil for other products.
    public let expiresDate: Timestamp?
    /// The time Apple refunded or revoked the transaction.
    public let revocationDate: Timestamp?
    /// The reason of the revocation: 1 for an issue with the app, 0 for another reason.
    public let revocationReason: Int64?
    /// True if the customer upgraded to another subscription of the group.
    public let isUpgraded: Bool?
    /// The number bought.
    public let quantity: Int64?
    /// The group whose subscriptions replace each other.
    public let subscriptionGroupIdentifier: String?
    /// The number of the subscription purchase across devices.
    public let webOrderLineItemID: String?
    /// `PURCHASED` or `FAMILY_SHARED`.
    public let inAppOwnershipType: String?
    /// The UUID that the app assigned to the purchase.
    public let appAccountToken: String?
    /// The device's verification value in base64; only in copies from a device.
    public let deviceVerification: String?
    /// The UUID that is part of the device's verification value.
    public let deviceVerificationNonce: String?
    /// The fields that only signed transactions have.
    public let signedFields: SignedTransactionFields
    /// The places in the payload of the claims that were not read, or only in part.
    package let unreadClaims: [Int]

    /// Reads the claims of a verified JWS.
    init(_ jws: VerifiedJWS, _ claims: consuming Claims, _ context: ClaimContext) throws(ReceiptError) {
        self.jws = jws
        transactionID = try claims.required("transactionId")
        originalTransactionID = try claims.required("originalTransactionId")
        bundleID = try context.requiresApp ? claims.required("bundleId") : claims.text("bundleId") ?? ""
        productID = try claims.required("productId")
        type = try claims.text("type")
        purchaseDate = try claims.date("purchaseDate")
        originalPurchaseDate = try claims.date("originalPurchaseDate")
        expiresDate = try claims.date("expiresDate")
        revocationDate = try claims.date("revocationDate")
        revocationReason = try claims.integer("revocationReason")
        isUpgraded = try claims.flag("isUpgraded")
        quantity = try claims.integer("quantity")
        subscriptionGroupIdentifier = try claims.text("subscriptionGroupIdentifier")
        webOrderLineItemID = try claims.identifier("webOrderLineItemId")
        inAppOwnershipType = try claims.text("inAppOwnershipType")
        appAccountToken = try claims.text("appAccountToken")
        deviceVerification = try claims.text("deviceVerification")
        deviceVerificationNonce = try claims.text("deviceVerificationNonce")
        signedFields = try SignedTransactionFields(&claims)
        signedDate = try claims.requiredDate("signedDate")
        environment = try context.environment(try claims.text("environment"), of: jws)
        unreadClaims = claims.unread
        try context.check(jws, signedAt: signedDate)
    }

    /// The value that binds the transaction to a device; nil in copies from Apple's servers.
    public var deviceBinding: DeviceVerification? {
        DeviceVerification(value: deviceVerification, nonce: deviceVerificationNonce)
    }

    /// Returns the transaction, of this app if it names none.
    package func ofApp(_ bundleID: String) -> VerifiedTransaction {
        guard self.bundleID.isEmpty else { return self }
        var transaction = self
        transaction.bundleID = bundleID
        return transaction
    }
}
