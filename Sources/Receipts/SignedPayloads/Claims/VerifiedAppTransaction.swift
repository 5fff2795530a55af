// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A signed app transaction (StoreKit, `AppTransaction`). Only a `ReceiptVerifier` creates one.
///
/// Unknown claims and values are kept as they are; all claims are in the payload.
public struct VerifiedAppTransaction: Sendable {
    /// The verified JWS, with its payload.
    public let jws: VerifiedJWS
    /// The environment the app was installed from.
    public private(set) var environment: Environment = .production
    /// The app.
    public private(set) var bundleID: String = ""
    /// The environment as Apple wrote it.
    public private(set) var receiptType: String = ""
    /// The time Apple signed the app transaction.
    public private(set) var receiptCreationDate: Timestamp = .earliest
    /// The app's number in the App Store; absent outside production.
    public private(set) var appAppleID: Int64?
    /// The version of the installed app; absent in copies from Apple's servers.
    public private(set) var applicationVersion: String?
    /// Apple's number of that version.
    public private(set) var versionExternalIdentifier: Int64?
    /// The version the customer first bought.
    public private(set) var originalApplicationVersion: String?
    /// The time the customer first bought the app.
    public private(set) var originalPurchaseDate: Timestamp?
    /// The time the customer pre-ordered the app.
    public private(set) var preorderDate: Timestamp?
    /// The number of the customer's download of the app.
    public private(set) var appTransactionID: String?
    /// The platform of the first purchase: `iOS`, `macOS`, `tvOS` or `visionOS`.
    public private(set) var originalPlatform: String?
    /// The device's verification value in base64; only in copies from a device.
    public private(set) var deviceVerification: String?
    /// The UUID that is part of the device's verification value.
    public private(set) var deviceVerificationNonce: String?

    /// Reads the claims of a verified JWS.
    init(_ jws: VerifiedJWS, _ context: ClaimContext) throws(ReceiptError) {
        self.jws = jws
        var claims = try context.claims(of: jws)
        try claims.readAll { claim, claims throws(ReceiptError) in try read(claim, from: &claims) }
        guard !bundleID.isEmpty else { throw ReceiptError(missing: .bundleID) }
        guard !receiptType.isEmpty else { throw ReceiptError(missing: .receiptType) }
        guard receiptCreationDate != .earliest else { throw ReceiptError(missing: .receiptCreationDate) }
        environment = try context.environment(named: receiptType, of: jws)
        try context.check(jws, signedAt: receiptCreationDate)
    }

    private mutating func read(_ claim: ClaimName, from claims: inout ClaimReader) throws(ReceiptError) {
        switch claim {
        case .bundleID: bundleID = try claims.text() ?? ""
        case .receiptType: receiptType = try claims.text() ?? ""
        case .receiptCreationDate: receiptCreationDate = try claims.date() ?? .earliest
        case .appAppleID: appAppleID = try claims.integer()
        case .applicationVersion: applicationVersion = try claims.text()
        case .versionExternalIdentifier: versionExternalIdentifier = try claims.integer()
        case .originalApplicationVersion: originalApplicationVersion = try claims.text()
        case .originalPurchaseDate: originalPurchaseDate = try claims.date()
        case .preorderDate: preorderDate = try claims.date()
        case .appTransactionID: appTransactionID = try claims.text()
        case .originalPlatform: originalPlatform = try claims.text()
        case .deviceVerification: deviceVerification = try claims.text()
        case .deviceVerificationNonce: deviceVerificationNonce = try claims.text()
        default: try claims.skip()
        }
    }
}

extension VerifiedAppTransaction: CustomStringConvertible, CustomReflectable {
    /// Contains no claim.
    public var description: String { "VerifiedAppTransaction" }

    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension VerifiedTransaction {
    /// The value that binds the transaction to a device; nil in copies from Apple's servers.
    public var deviceBinding: DeviceVerification? {
        DeviceVerification(value: deviceVerification, nonce: deviceVerificationNonce)
    }
}

extension VerifiedAppTransaction {
    /// The value that binds the app transaction to a device; nil in copies from Apple's servers.
    public var deviceBinding: DeviceVerification? {
        DeviceVerification(value: deviceVerification, nonce: deviceVerificationNonce)
    }
}
