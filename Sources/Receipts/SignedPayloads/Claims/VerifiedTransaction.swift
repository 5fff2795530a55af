// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A signed transaction of StoreKit 2 (App Store Server API, `JWSTransactionDecodedPayload`). Only a
/// `ReceiptVerifier` creates one.
///
/// Unknown claims and values are kept as they are; all claims are in the payload.
public struct VerifiedTransaction: Sendable {
    /// The verified JWS, with its payload.
    public let jws: VerifiedJWS
    /// The environment the customer bought in; nil if it is not signed, as in 2021.
    public private(set) var environment: Environment?
    /// The identifier of this purchase or renewal.
    public private(set) var transactionID: String = ""
    /// The identifier of the chain's first transaction.
    public private(set) var originalTransactionID: String = ""
    /// The app the customer bought in.
    public private(set) var bundleID: String = ""
    /// The identifier of the product.
    public private(set) var productID: String = ""
    /// The time Apple signed the transaction.
    public private(set) var signedDate: Timestamp = .earliest
    /// `Auto-Renewable Subscription`, `Non-Consumable`, `Consumable` or `Non-Renewing Subscription`.
    public private(set) var type: String?
    /// The time the customer was charged, or the start of the period.
    public private(set) var purchaseDate: Timestamp?
    /// The purchase time of the chain's first transaction.
    public private(set) var originalPurchaseDate: Timestamp?
    /// The end of the subscription period; nil for other products.
    public private(set) var expiresDate: Timestamp?
    /// The time Apple refunded or revoked the transaction.
    public private(set) var revocationDate: Timestamp?
    /// The reason of the revocation: 1 for an issue with the app, 0 for another reason.
    public private(set) var revocationReason: Int64?
    /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
    public private(set) var revocationType: String?
    /// The revoked share in thousandths of a percent: 100000 for all.
    public private(set) var revocationPercentage: Int64?
    /// True if the customer upgraded to another subscription of the group.
    public private(set) var isUpgraded: Bool?
    /// The number bought.
    public private(set) var quantity: Int64?
    /// The group whose subscriptions replace each other.
    public private(set) var subscriptionGroupIdentifier: String?
    /// The number of the subscription purchase across devices.
    public private(set) var webOrderLineItemID: String?
    /// `PURCHASED` or `FAMILY_SHARED`.
    public private(set) var inAppOwnershipType: String?
    /// `PURCHASE` or `RENEWAL`.
    public private(set) var transactionReason: String?
    /// The UUID that the app assigned to the purchase.
    public private(set) var appAccountToken: String?
    /// The number of the customer's download of the app.
    public private(set) var appTransactionID: String?
    /// The chain's identifier before Apple replaced it.
    public private(set) var previousOriginalTransactionID: String?
    /// The App Store's country, three letters (ISO 3166-1).
    public private(set) var storefront: String?
    /// Apple's number of the App Store's country.
    public private(set) var storefrontID: String?
    /// The price in thousandths of the currency's unit, after offers and times the quantity.
    public private(set) var price: Int64?
    /// The price's currency, three letters (ISO 4217).
    public private(set) var currency: String?
    /// The kind of offer: 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    public private(set) var offerType: Int64?
    /// The identifier of the offer; absent for introductory offers.
    public private(set) var offerIdentifier: String?
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT` or `ONE_TIME`.
    public private(set) var offerDiscountType: String?
    /// The duration of the offer (ISO 8601).
    public private(set) var offerPeriod: String?
    /// `BILLED_UPFRONT` or `MONTHLY`.
    public private(set) var billingPlanType: String?
    /// The customer's commitment to a number of billing periods.
    public private(set) var commitment: Commitment?
    /// `advancedCommerceInfo` as Apple wrote it, in JSON.
    public private(set) var advancedCommerceInfo: [UInt8]?
    /// The device's verification value in base64; only in copies from a device.
    public private(set) var deviceVerification: String?
    /// The UUID that is part of the device's verification value.
    public private(set) var deviceVerificationNonce: String?
    /// The claims that decide nothing and count as absent, because they cannot be read.
    package private(set) var ignoredClaims: [String] = []

    /// Reads the claims of a verified JWS.
    init(_ jws: VerifiedJWS, _ context: ClaimContext) throws(ReceiptError) {
        self.jws = jws
        var environmentName: String?
        var claims = try context.claims(of: jws)
        try claims.readAll { claim, claims throws(ReceiptError) in
            if claim == .environment { environmentName = try claims.text() } else { try read(claim, from: &claims) }
        }
        ignoredClaims = claims.ignored
        guard !transactionID.isEmpty else { throw ReceiptError(missing: .transactionID) }
        guard !originalTransactionID.isEmpty else { throw ReceiptError(missing: .originalTransactionID) }
        guard !bundleID.isEmpty || !context.requiresApp else { throw ReceiptError(missing: .bundleID) }
        guard !productID.isEmpty else { throw ReceiptError(missing: .productID) }
        guard signedDate != .earliest else { throw ReceiptError(missing: .signedDate) }
        environment = try context.environment(environmentName, of: jws)
        try context.check(jws, signedAt: signedDate)
    }

    /// Returns the transaction, of this app if it names none.
    package func ofApp(_ bundleID: String) -> VerifiedTransaction {
        guard self.bundleID.isEmpty else { return self }
        var transaction = self
        transaction.bundleID = bundleID
        return transaction
    }

    private mutating func read(_ claim: ClaimName, from claims: inout ClaimReader) throws(ReceiptError) {
        switch claim {
        case .transactionID: transactionID = try claims.text() ?? ""
        case .originalTransactionID: originalTransactionID = try claims.text() ?? ""
        case .bundleID: bundleID = try claims.text() ?? ""
        case .productID: productID = try claims.text() ?? ""
        case .signedDate: signedDate = try claims.date() ?? .earliest
        case .type: type = try claims.text()
        case .purchaseDate: purchaseDate = try claims.date()
        case .originalPurchaseDate: originalPurchaseDate = try claims.date()
        case .expiresDate: expiresDate = try claims.date()
        case .revocationDate: revocationDate = try claims.date()
        case .revocationReason: revocationReason = try claims.integer()
        case .revocationType: revocationType = try claims.text()
        case .revocationPercentage: revocationPercentage = try claims.integer()
        case .isUpgraded: isUpgraded = try claims.flag()
        case .quantity: quantity = try claims.integer()
        case .subscriptionGroupIdentifier: subscriptionGroupIdentifier = try claims.text()
        case .webOrderLineItemID: webOrderLineItemID = try claims.identifier()
        case .inAppOwnershipType: inAppOwnershipType = try claims.text()
        case .transactionReason: transactionReason = try claims.text()
        case .appAccountToken: appAccountToken = try claims.text()
        case .appTransactionID: appTransactionID = try claims.text()
        case .previousOriginalTransactionID: previousOriginalTransactionID = try claims.text()
        case .storefront: storefront = try claims.text()
        case .storefrontID: storefrontID = try claims.text()
        case .price: price = try claims.integer()
        case .currency: currency = try claims.text()
        case .offerType: offerType = try claims.integer()
        case .offerIdentifier: offerIdentifier = try claims.text()
        case .offerDiscountType: offerDiscountType = try claims.text()
        case .offerPeriod: offerPeriod = try claims.text()
        case .billingPlanType: billingPlanType = try claims.text()
        case .commitmentInfo: commitment = try claims.nested(Commitment.init)
        case .advancedCommerceInfo: advancedCommerceInfo = try claims.raw()
        case .deviceVerification: deviceVerification = try claims.text()
        case .deviceVerificationNonce: deviceVerificationNonce = try claims.text()
        default: try claims.skip()
        }
    }
}

extension VerifiedTransaction: CustomStringConvertible, CustomReflectable {
    /// Contains no claim.
    public var description: String { "VerifiedTransaction" }

    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A customer's commitment to a number of billing periods (`commitmentInfo` of a transaction).
public struct Commitment: Hashable, Sendable {
    /// The current billing period, from 1.
    public private(set) var billingPeriodNumber: Int64?
    /// The number of billing periods.
    public private(set) var totalBillingPeriods: Int64?
    /// The end of the commitment.
    public private(set) var expiresDate: Timestamp?
    /// The price of all periods in thousandths of the currency's unit.
    public private(set) var price: Int64?

    init(_ claims: inout ClaimReader) throws(ReceiptError) {
        while let claim = try claims.next() {
            switch claim {
            case .billingPeriodNumber: billingPeriodNumber = try claims.integer()
            case .totalBillingPeriods: totalBillingPeriods = try claims.integer()
            case .commitmentExpiresDate: expiresDate = try claims.date()
            case .commitmentPrice: price = try claims.integer()
            default: try claims.skip()
            }
        }
    }
}
