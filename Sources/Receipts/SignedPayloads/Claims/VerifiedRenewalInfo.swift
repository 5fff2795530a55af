// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A signed renewal info (App Store Server API, `JWSRenewalInfoDecodedPayload`). Only a `ReceiptVerifier` creates one.
/// It names no app: it belongs to the transaction with its original transaction ID.
///
/// Unknown claims and values are kept as they are; all claims are in the payload.
public struct VerifiedRenewalInfo: Sendable {
    /// The verified JWS, with its payload.
    public let jws: VerifiedJWS
    /// The environment the customer bought in; nil if it is not signed, as in 2021.
    public private(set) var environment: Environment?
    /// The identifier of the subscription's first transaction.
    public private(set) var originalTransactionID: String = ""
    /// 1 if the subscription renews, 0 if not.
    public private(set) var autoRenewStatus: Int64?
    /// The time Apple signed the renewal info.
    public private(set) var signedDate: Timestamp = .earliest
    /// The identifier of the current product.
    public private(set) var productID: String?
    /// The identifier of the next period's product.
    public private(set) var autoRenewProductID: String?
    /// The reason why the subscription ended: 1 cancelled, 2 billing, 3 price declined, 4 product gone, 5 other.
    public private(set) var expirationIntent: Int64?
    /// True if Apple still tries to collect the payment.
    public private(set) var isInBillingRetryPeriod: Bool?
    /// The end of the grace period, in which the customer keeps access although the payment failed.
    public private(set) var gracePeriodExpiresDate: Timestamp?
    /// 0 if the customer has not answered to a price increase, 1 if they consented or were notified.
    public private(set) var priceIncreaseStatus: Int64?
    /// The kind of the next period's offer, as in transactions.
    public private(set) var offerType: Int64?
    /// The identifier of the next period's offer.
    public private(set) var offerIdentifier: String?
    /// The payment of the next period's offer, as in transactions.
    public private(set) var offerDiscountType: String?
    /// The duration of the next period's offer (ISO 8601).
    public private(set) var offerPeriod: String?
    /// The time of the next renewal.
    public private(set) var renewalDate: Timestamp?
    /// The price of the next period in thousandths of the currency's unit.
    public private(set) var renewalPrice: Int64?
    /// The price's currency, three letters (ISO 4217).
    public private(set) var currency: String?
    /// The start of the subscription's latest run of periods; gaps below 60 days do not count.
    public private(set) var recentSubscriptionStartDate: Timestamp?
    /// The win-back offers the customer may redeem, the best first.
    public private(set) var eligibleWinBackOfferIDs: [String]?
    /// The UUID that the app assigned to the next period.
    public private(set) var appAccountToken: String?
    /// The number of the customer's download of the app.
    public private(set) var appTransactionID: String?
    /// The chain's identifier before Apple replaced it.
    public private(set) var previousOriginalTransactionID: String?
    /// The billing plan of the next period.
    public private(set) var renewalBillingPlanType: String?
    /// The customer's commitment to a number of billing periods.
    public private(set) var commitment: RenewalCommitment?
    /// `advancedCommerceInfo` as Apple wrote it, in JSON.
    public private(set) var advancedCommerceInfo: [UInt8]?
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
        guard !originalTransactionID.isEmpty else { throw ReceiptError(missing: .originalTransactionID) }
        guard autoRenewStatus != nil else { throw ReceiptError(missing: .autoRenewStatus) }
        guard signedDate != .earliest else { throw ReceiptError(missing: .signedDate) }
        environment = try context.environment(environmentName, of: jws)
        try context.check(jws, signedAt: signedDate)
    }

    private mutating func read(_ claim: ClaimName, from claims: inout ClaimReader) throws(ReceiptError) {
        switch claim {
        case .originalTransactionID: originalTransactionID = try claims.text() ?? ""
        case .autoRenewStatus: autoRenewStatus = try claims.integer()
        case .signedDate: signedDate = try claims.date() ?? .earliest
        case .productID: productID = try claims.text()
        case .autoRenewProductID: autoRenewProductID = try claims.text()
        case .expirationIntent: expirationIntent = try claims.integer()
        case .isInBillingRetryPeriod: isInBillingRetryPeriod = try claims.flag()
        case .gracePeriodExpiresDate: gracePeriodExpiresDate = try claims.date()
        case .priceIncreaseStatus: priceIncreaseStatus = try claims.integer()
        case .offerType: offerType = try claims.integer()
        case .offerIdentifier: offerIdentifier = try claims.text()
        case .offerDiscountType: offerDiscountType = try claims.text()
        case .offerPeriod: offerPeriod = try claims.text()
        case .renewalDate: renewalDate = try claims.date()
        case .renewalPrice: renewalPrice = try claims.integer()
        case .currency: currency = try claims.text()
        case .recentSubscriptionStartDate: recentSubscriptionStartDate = try claims.date()
        case .eligibleWinBackOfferIDs: eligibleWinBackOfferIDs = try claims.texts()
        case .appAccountToken: appAccountToken = try claims.text()
        case .appTransactionID: appTransactionID = try claims.text()
        case .previousOriginalTransactionID: previousOriginalTransactionID = try claims.text()
        case .renewalBillingPlanType: renewalBillingPlanType = try claims.text()
        case .commitmentInfo: commitment = try claims.nested(RenewalCommitment.init)
        case .advancedCommerceInfo: advancedCommerceInfo = try claims.raw()
        default: try claims.skip()
        }
    }
}

extension VerifiedRenewalInfo {
    /// Returns true if both are about the same subscription, also under the identifier it had before.
    public func belongs(to transaction: VerifiedTransaction) -> Bool {
        originalTransactionID == transaction.originalTransactionID
            || originalTransactionID == transaction.previousOriginalTransactionID
            || previousOriginalTransactionID == transaction.originalTransactionID
    }
}

extension VerifiedRenewalInfo: CustomStringConvertible, CustomReflectable {
    /// Contains no claim.
    public var description: String { "VerifiedRenewalInfo" }

    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The plan for a commitment's renewal (`commitmentInfo` of a renewal info).
public struct RenewalCommitment: Hashable, Sendable {
    /// The identifier of the next commitment's product.
    public private(set) var autoRenewProductID: String?
    /// 1 if the commitment renews, 0 if not.
    public private(set) var autoRenewStatus: Int64?
    /// The time of the next commitment.
    public private(set) var renewalDate: Timestamp?
    /// The price of the next commitment in thousandths of the currency's unit.
    public private(set) var renewalPrice: Int64?
    /// The billing plan of the next commitment.
    public private(set) var billingPlanType: String?

    init(_ claims: inout ClaimReader) throws(ReceiptError) {
        while let claim = try claims.next() {
            switch claim {
            case .commitmentAutoRenewProductID: autoRenewProductID = try claims.text()
            case .commitmentAutoRenewStatus: autoRenewStatus = try claims.integer()
            case .commitmentRenewalDate: renewalDate = try claims.date()
            case .commitmentRenewalPrice: renewalPrice = try claims.integer()
            case .commitmentRenewalBillingPlanType: billingPlanType = try claims.text()
            default: try claims.skip()
            }
        }
    }
}
