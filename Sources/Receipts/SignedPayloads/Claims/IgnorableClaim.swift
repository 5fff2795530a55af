// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

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
