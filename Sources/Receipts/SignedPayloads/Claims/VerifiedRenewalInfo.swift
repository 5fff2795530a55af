// SPDX-License-Identifier: Apache-2.0

/// A signed renewal info (App Store Server API, `JWSRenewalInfoDecodedPayload`). Only a `ReceiptVerifier` creates one.
/// It names no app: it belongs to the transaction with its original transaction ID.
///
/// Unknown claims and values are kept as they are; all claims are in the payload.
public struct VerifiedRenewalInfo: Sendable, Confidential {
    /// The verified JWS, with its payload.
    public let jws: VerifiedJWS
    /// The environment the customer bought in; nil if it is not signed, as in 2021.
    public let environment: Environment?
    /// The identifier of the subscription's first transaction.
    public let originalTransactionID: String
    /// 1 if the subscription renews, 0 if not.
    public let autoRenewStatus: Int64
    /// The time Apple signed the renewal info.
    public let signedDate: Timestamp
    /// The identifier of the current product.
    public let productID: String?
    /// The identifier of the next period's product.
    public let autoRenewProductID: String?
    /// The reason why the subscription ended: 1 cancelled, 2 billing, 3 price declined, 4 product gone, 5 other.
    public let expirationIntent: Int64?
    /// True if Apple still tries to collect the payment.
    public let isInBillingRetryPeriod: Bool?
    /// The end of the grace period, in which the customer keeps access although the payment failed.
    public let gracePeriodExpiresDate: Timestamp?
    /// 0 if the customer has not answered to a price increase, 1 if they consented or were notified.
    public let priceIncreaseStatus: Int64?
    /// The fields that only signed renewal infos have.
    public let signedFields: SignedRenewalFields
    /// The places in the payload of the claims that were not read, or only in part.
    package let unreadClaims: [Int]

    /// Reads the claims of a verified JWS.
    init(_ jws: VerifiedJWS, _ claims: consuming Claims, _ context: ClaimContext) throws(ReceiptError) {
        self.jws = jws
        originalTransactionID = try claims.required("originalTransactionId")
        guard let autoRenewStatus = try claims.integer("autoRenewStatus") else {
            throw ReceiptError(missing: "autoRenewStatus")
        }
        self.autoRenewStatus = autoRenewStatus
        productID = try claims.text("productId")
        autoRenewProductID = try claims.text("autoRenewProductId")
        expirationIntent = try claims.integer("expirationIntent")
        isInBillingRetryPeriod = try claims.flag("isInBillingRetryPeriod")
        gracePeriodExpiresDate = try claims.date("gracePeriodExpiresDate")
        priceIncreaseStatus = try claims.integer("priceIncreaseStatus")
        signedFields = try SignedRenewalFields(&claims)
        signedDate = try claims.requiredDate("signedDate")
        environment = try context.environment(try claims.text("environment"), of: jws)
        // Copies from a device have them, and no app to compare them with.
        claims.skip("deviceVerification")
        claims.skip("deviceVerificationNonce")
        unreadClaims = claims.unread
        try context.check(jws, signedAt: signedDate)
    }
    /// Returns true if both are about the same subscription, also under the identifier it had before.
    public func belongs(to transaction: VerifiedTransaction) -> Bool {
        originalTransactionID == transaction.originalTransactionID
            || originalTransactionID == transaction.signedFields.previousOriginalTransactionID
            || signedFields.previousOriginalTransactionID == transaction.originalTransactionID
    }
}
