// SPDX-License-Identifier: Apache-2.0

/// The readable claims of a payload that Apple signed and that cannot be read as a whole.
package struct UnreadableClaims: Hashable, Sendable {
    package let transactionID: String?
    package let originalTransactionID: String?
    package let productID: String?
    package let bundleID: String?
    package let environment: Environment?
    /// True if there is a revocation, readable or not.
    package let isRevoked: Bool
    /// The rule that the payload breaks, and where.
    package let error: ReceiptError

    fileprivate init(_ jws: VerifiedJWS, _ error: ReceiptError, _ context: ClaimContext) {
        self.error = error
        var claims = context.readableClaims(of: jws)
        transactionID = try? claims.identifier("transactionId")
        originalTransactionID = try? claims.identifier("originalTransactionId")
        productID = try? claims.text("productId")
        bundleID = try? claims.text("bundleId")
        environment = (try? claims.text("environment")).flatMap(Environment.init(rawValue:))
        isRevoked = claims.hasValue("revocationDate") || claims.hasValue("revocationReason")
    }
}

extension ReceiptVerifier {
    /// Reads the claims of a payload whose verification failed.
    /// - Parameter error: the reason for which it failed.
    /// - Returns: nil unless Apple signed it and the fault is one of its claims.
    package func unreadableClaims(
        _ jws: [UInt8], _ error: ReceiptError, at now: Timestamp
    ) -> UnreadableClaims? {
        guard Self.claimRules.contains(error.rule), let verified = try? verifySignature(ofJWS: jws.span),
            (try? verified.chain.validity.check(at: now, grace: policy.expiryGrace)) != nil
        else { return nil }
        return UnreadableClaims(verified, error, ClaimContext(verifier: self, now: now))
    }

    /// The rules for claims that a payload breaks although its signature holds.
    private static let claimRules: Set<Rule> = [
        .claimMalformed, .claimMissing, .claimDuplicate, .tooManyClaims, .payloadNotObject, .environmentUnknown,
    ]
}

/// A claim that decides neither whose purchase it is nor what it entitles to. If Apple signs such a claim in another
/// form than it documents, the claim counts as absent. The rest of the payload is as good as before. The raw values are
/// Apple's names.
package enum IgnorableClaim: String, CaseIterable, Hashable, Sendable {
    case advancedCommerceInfo, appData, billingPlanType, commitmentInfo, currency
    case eligibleWinBackOfferIDs = "eligibleWinBackOfferIds"
    case externalPurchaseToken, offerPeriod, originalPlatform, price, priceIncreaseStatus, recentSubscriptionStartDate,
        renewalBillingPlanType, renewalDate, renewalPrice, revocationPercentage, status, storefront
    case storefrontID = "storefrontId"
    case subtype, summary, transactionReason
}
