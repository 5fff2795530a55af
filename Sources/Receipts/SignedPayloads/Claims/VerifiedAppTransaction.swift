// SPDX-License-Identifier: Apache-2.0

/// A signed app transaction (StoreKit, `AppTransaction`). Only a `ReceiptVerifier` creates one.
///
/// Unknown claims and values are kept as they are; all claims are in the payload.
public struct VerifiedAppTransaction: Sendable, Confidential {
    /// The verified JWS, with its payload.
    public let jws: VerifiedJWS
    /// The environment the app was installed from.
    public let environment: Environment
    /// The app.
    public let bundleID: String
    /// The environment as Apple wrote it.
    public let receiptType: String
    /// The time Apple signed the app transaction.
    public let receiptCreationDate: Timestamp
    /// The app's number in the App Store; absent outside production.
    public let appAppleID: Int64?
    /// The version of the installed app; absent in copies from Apple's servers.
    public let applicationVersion: String?
    /// Apple's number of that version.
    public let versionExternalIdentifier: Int64?
    /// The version the customer first bought.
    public let originalApplicationVersion: String?
    /// The time the customer first bought the app.
    public let originalPurchaseDate: Timestamp?
    /// The time the customer pre-ordered the app.
    public let preorderDate: Timestamp?
    /// The number of the customer's download of the app.
    public let appTransactionID: String?
    /// The platform of the first purchase: `iOS`, `macOS`, `tvOS` or `visionOS`.
    public let originalPlatform: String?
    /// The device's verification value in base64; only in copies from a device.
    public let deviceVerification: String?
    /// The UUID that is part of the device's verification value.
    public let deviceVerificationNonce: String?
    /// The places in the payload of the claims that were not read.
    package let unreadClaims: [Int]

    /// Reads the claims of a verified JWS.
    init(_ jws: VerifiedJWS, _ claims: consuming Claims, _ context: ClaimContext) throws(ReceiptError) {
        self.jws = jws
        bundleID = try claims.required("bundleId")
        receiptType = try claims.required("receiptType")
        receiptCreationDate = try claims.requiredDate("receiptCreationDate")
        appAppleID = try claims.integer("appAppleId")
        applicationVersion = try claims.text("applicationVersion")
        versionExternalIdentifier = try claims.integer("versionExternalIdentifier")
        originalApplicationVersion = try claims.text("originalApplicationVersion")
        originalPurchaseDate = try claims.date("originalPurchaseDate")
        preorderDate = try claims.date("preorderDate")
        appTransactionID = try claims.text("appTransactionId")
        originalPlatform = try claims.text("originalPlatform")
        deviceVerification = try claims.text("deviceVerification")
        deviceVerificationNonce = try claims.text("deviceVerificationNonce")
        environment = try context.environment(named: receiptType, of: jws)
        unreadClaims = claims.unread
        try context.check(jws, signedAt: receiptCreationDate)
    }

    /// The value that binds the app transaction to a device; nil in copies from Apple's servers.
    public var deviceBinding: DeviceVerification? {
        DeviceVerification(value: deviceVerification, nonce: deviceVerificationNonce)
    }
}
