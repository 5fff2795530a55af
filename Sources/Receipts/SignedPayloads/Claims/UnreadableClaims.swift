// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The readable claims of a payload that Apple signed and that cannot be read as a whole.
package struct UnreadableClaims: Hashable, Sendable {
    package private(set) var transactionID: String?
    package private(set) var originalTransactionID: String?
    package private(set) var productID: String?
    package private(set) var bundleID: String?
    package private(set) var environmentName: String?
    /// True if there is a revocation, readable or not.
    package private(set) var isRevoked = false

    fileprivate init(_ jws: VerifiedJWS, _ context: ClaimContext) {
        do throws(ReceiptError) {
            var claims = try context.claims(of: jws, acceptsAnyNumber: true)
            while let claim = try claims.next() {
                let start = claims
                do throws(ReceiptError) {
                    try read(claim, from: &claims)
                } catch {
                    claims = start
                    try claims.skip()
                }
            }
        } catch {
            // The claims before the fault count.
        }
    }

    private mutating func read(_ claim: ClaimName, from claims: inout ClaimReader) throws(ReceiptError) {
        switch claim {
        case .transactionID: transactionID = try claims.identifier()
        case .originalTransactionID: originalTransactionID = try claims.identifier()
        case .productID: productID = try claims.text()
        case .bundleID: bundleID = try claims.text()
        case .environment: environmentName = try claims.text()
        case .revocationDate, .revocationReason: if try claims.skipPresent() { isRevoked = true }
        default: try claims.skip()
        }
    }
}

extension ReceiptVerifier {
    /// Reads the claims of a payload whose verification failed.
    /// - Parameter error: the reason for which it failed.
    /// - Returns: nil unless Apple signed it and the fault is one of its claims.
    package func unreadableClaims(
        _ jws: [UInt8], _ error: ReceiptError, at now: Timestamp
    ) -> UnreadableClaims? {
        guard error.rule.isAboutClaims, let verified = try? verifySignature(ofJWS: jws.span),
            (try? verified.chain.validity.check(at: now, grace: policy.expiryGrace)) != nil
        else { return nil }
        return UnreadableClaims(verified, context(at: now))
    }
}

extension Rule {
    /// True for the rules for claims that a payload breaks although its signature holds.
    fileprivate var isAboutClaims: Bool {
        switch self {
        case .claimMalformed, .claimMissing, .claimDuplicate, .tooManyClaims, .payloadNotObject,
            .environmentUnknown:
            true
        default: false
        }
    }
}

/// A claim that decides neither whose purchase it is nor what it entitles to. If Apple signs such a claim in another
/// form than it documents, the claim counts as absent. The rest of the payload is as good as before. The raw values are
/// Apple's names.
package enum IgnorableClaim: String, CaseIterable, Hashable, Sendable {
    case advancedCommerceInfo, appData, billingPlanType, commitmentInfo, currency
    case eligibleWinBackOfferIDs = "eligibleWinBackOfferIds"
    case externalPurchaseToken, originalPlatform, price, priceIncreaseStatus, renewalBillingPlanType, renewalPrice,
        status
    case storefront
    case storefrontID = "storefrontId"
    case subtype, summary, transactionReason
}
