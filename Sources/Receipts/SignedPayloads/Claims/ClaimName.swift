// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The claims of Apple's payloads with a meaning here (App Store Server API, `JWSTransactionDecodedPayload` and others).
enum ClaimName: String, CaseIterable, Sendable {
    case advancedCommerceInfo
    case appAccountToken
    case appAppleID = "appAppleId"
    case appData
    case appTransactionID = "appTransactionId"
    case applicationVersion
    case autoRenewProductID = "autoRenewProductId"
    case autoRenewStatus
    case billingPeriodNumber
    case billingPlanType
    case bundleID = "bundleId"
    case bundleVersion
    case commitmentAutoRenewProductID = "commitmentAutoRenewProductId"
    case commitmentAutoRenewStatus
    case commitmentExpiresDate
    case commitmentInfo
    case commitmentPrice
    case commitmentRenewalBillingPlanType
    case commitmentRenewalDate
    case commitmentRenewalPrice
    case currency
    case data
    case deviceVerification
    case deviceVerificationNonce
    case eligibleWinBackOfferIDs = "eligibleWinBackOfferIds"
    case environment
    case expirationIntent
    case expiresDate
    case externalPurchaseID = "externalPurchaseId"
    case externalPurchaseToken
    case gracePeriodExpiresDate
    case inAppOwnershipType
    case isInBillingRetryPeriod
    case isUpgraded
    case notificationType
    case notificationUUID
    case offerDiscountType
    case offerIdentifier
    case offerPeriod
    case offerType
    case originalApplicationVersion
    case originalPlatform
    case originalPurchaseDate
    case originalTransactionID = "originalTransactionId"
    case preorderDate
    case previousOriginalTransactionID = "previousOriginalTransactionId"
    case price
    case priceIncreaseStatus
    case productID = "productId"
    case purchaseDate
    case quantity
    case receiptCreationDate
    case receiptType
    case recentSubscriptionStartDate
    case renewalBillingPlanType
    case renewalDate
    case renewalPrice
    case revocationDate
    case revocationPercentage
    case revocationReason
    case revocationType
    case signedAppTransactionInfo
    case signedDate
    case signedRenewalInfo
    case signedTransactionInfo
    case status
    case storefront
    case storefrontID = "storefrontId"
    case subscriptionGroupIdentifier
    case subtype
    case summary
    case totalBillingPeriods
    case transactionID = "transactionId"
    case transactionReason
    case type
    case version
    case versionExternalIdentifier
    case webOrderLineItemID = "webOrderLineItemId"

    /// Returns nil for an unknown claim.
    init?(_ name: Span<UInt8>) {
        guard name.count < Self.byLength.count else { return nil }
        for candidate in Self.byLength[name.count] where name.equals(candidate.text) {
            self = candidate.name
            return
        }
        return nil
    }

    /// The claims by the length of their names: few names share a length.
    private static let byLength: [[(text: [UInt8], name: ClaimName)]] = {
        let longest = allCases.map(\.rawValue.utf8.count).max() ?? 0
        var byLength = [[(text: [UInt8], name: ClaimName)]](repeating: [], count: longest + 1)
        for name in allCases { byLength[name.rawValue.utf8.count].append((Array(name.rawValue.utf8), name)) }
        return byLength
    }()
}
