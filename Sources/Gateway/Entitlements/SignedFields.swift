// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
package import Receipts

/// A value on the heap, so that its owner stays small: most transactions have no signed fields.
package indirect enum HeapBox<Value: Hashable & Sendable>: Hashable, Sendable {
    case value(Value)

    package var value: Value {
        switch self {
        case .value(let value): value
        }
    }
}

/// The fields that only signed transactions have. Names and values follow their claims; unknown fields are nil.
package struct SignedTransactionFields: Hashable, Sendable {
    package var signedDate: Timestamp?
    package var storefront: String?
    package var storefrontID: String?
    /// In thousandths of the currency's unit.
    package var price: Int64?
    package var currency: String?
    package var offerType: Int64?
    package var offerIdentifier: String?
    package var offerDiscountType: String?
    package var offerPeriod: String?
    package var transactionReason: String?
    package var revocationType: String?
    /// In thousandths of a percent.
    package var revocationPercentage: Int64?
    package var appTransactionID: String?
    package var previousOriginalTransactionID: String?
    package var billingPlanType: String?
    package var commitmentBillingPeriodNumber: Int64?
    package var commitmentTotalBillingPeriods: Int64?
    package var commitmentExpiresDate: Timestamp?
    package var commitmentPrice: Int64?
    /// A JSON object without white space.
    package var advancedCommerceInfo: [UInt8]?

    package init() {}
}

extension SignedTransactionFields {
    init(_ transaction: VerifiedTransaction) {
        signedDate = transaction.signedDate
        storefront = transaction.storefront
        storefrontID = transaction.storefrontID
        price = transaction.price
        currency = transaction.currency
        offerType = transaction.offerType
        offerIdentifier = transaction.offerIdentifier
        offerDiscountType = transaction.offerDiscountType
        offerPeriod = transaction.offerPeriod
        transactionReason = transaction.transactionReason
        revocationType = transaction.revocationType
        revocationPercentage = transaction.revocationPercentage
        appTransactionID = transaction.appTransactionID
        previousOriginalTransactionID = transaction.previousOriginalTransactionID
        billingPlanType = transaction.billingPlanType
        commitmentBillingPeriodNumber = transaction.commitment?.billingPeriodNumber
        commitmentTotalBillingPeriods = transaction.commitment?.totalBillingPeriods
        commitmentExpiresDate = transaction.commitment?.expiresDate
        commitmentPrice = transaction.commitment?.price
        advancedCommerceInfo = transaction.advancedCommerceInfo.flatMap(JSONValue.compactObject)
    }
}

/// The fields that only signed renewal infos have. Names and values follow their claims; unknown fields are nil.
package struct SignedRenewalFields: Hashable, Sendable {
    package var signedDate: Timestamp?
    package var renewalDate: Timestamp?
    /// In thousandths of the currency's unit.
    package var renewalPrice: Int64?
    package var currency: String?
    package var offerType: Int64?
    package var offerIdentifier: String?
    package var offerDiscountType: String?
    package var offerPeriod: String?
    package var recentSubscriptionStartDate: Timestamp?
    /// The best first.
    package var eligibleWinBackOfferIDs: [String]?
    package var appAccountToken: String?
    package var appTransactionID: String?
    package var previousOriginalTransactionID: String?
    package var renewalBillingPlanType: String?
    package var commitmentAutoRenewProductID: String?
    package var commitmentAutoRenewStatus: Int64?
    package var commitmentRenewalDate: Timestamp?
    package var commitmentRenewalPrice: Int64?
    package var commitmentRenewalBillingPlanType: String?
    /// A JSON object without white space.
    package var advancedCommerceInfo: [UInt8]?

    package init() {}
}

extension SignedRenewalFields {
    init(_ renewalInfo: VerifiedRenewalInfo) {
        signedDate = renewalInfo.signedDate
        renewalDate = renewalInfo.renewalDate
        renewalPrice = renewalInfo.renewalPrice
        currency = renewalInfo.currency
        offerType = renewalInfo.offerType
        offerIdentifier = renewalInfo.offerIdentifier
        offerDiscountType = renewalInfo.offerDiscountType
        offerPeriod = renewalInfo.offerPeriod
        recentSubscriptionStartDate = renewalInfo.recentSubscriptionStartDate
        eligibleWinBackOfferIDs = renewalInfo.eligibleWinBackOfferIDs
        appAccountToken = renewalInfo.appAccountToken
        appTransactionID = renewalInfo.appTransactionID
        previousOriginalTransactionID = renewalInfo.previousOriginalTransactionID
        renewalBillingPlanType = renewalInfo.renewalBillingPlanType
        commitmentAutoRenewProductID = renewalInfo.commitment?.autoRenewProductID
        commitmentAutoRenewStatus = renewalInfo.commitment?.autoRenewStatus
        commitmentRenewalDate = renewalInfo.commitment?.renewalDate
        commitmentRenewalPrice = renewalInfo.commitment?.renewalPrice
        commitmentRenewalBillingPlanType = renewalInfo.commitment?.billingPlanType
        advancedCommerceInfo = renewalInfo.advancedCommerceInfo.flatMap(JSONValue.compactObject)
    }
}

/// The kinds of offers, by Apple's numbers (`offerType`).
enum OfferType: Int64, Sendable {
    case introductory = 1
    case promotional
    case code
    case winBack
}

// MARK: - In the words of `verifyReceipt`

extension Transaction {
    package init(_ transaction: VerifiedTransaction) {
        self.init(productID: transaction.productID, transactionID: transaction.transactionID)
        originalTransactionID = transaction.originalTransactionID
        purchaseDate = transaction.purchaseDate
        originalPurchaseDate = transaction.originalPurchaseDate
        expiresDate = transaction.expiresDate
        cancellationDate = transaction.revocationDate
        cancellationReason = transaction.revocationReason
        isUpgraded = transaction.isUpgraded ?? false
        ownership = transaction.inAppOwnershipType.flatMap(Ownership.init(rawValue:))
        subscriptionGroupID = transaction.subscriptionGroupIdentifier
        appAccountToken = transaction.appAccountToken
        quantity = transaction.quantity
        webOrderLineItemID = transaction.webOrderLineItemID
        productType = transaction.type.flatMap(ProductType.init(claim:))
        readOffer(of: transaction)
        signedFields = .value(SignedTransactionFields(transaction))
    }

    private mutating func readOffer(of transaction: VerifiedTransaction) {
        let offer = transaction.offerType.flatMap(OfferType.init(rawValue:))
        isTrialPeriod = transaction.offerDiscountType == "FREE_TRIAL"
        isInIntroOfferPeriod = offer == .introductory && isTrialPeriod == false
        promotionalOfferID = offer == .promotional ? transaction.offerIdentifier : nil
        offerCodeName = offer == .code ? transaction.offerIdentifier : nil
    }
}

extension Renewal {
    package init(_ renewalInfo: VerifiedRenewalInfo, _ status: ReportedStatus? = nil) {
        self.init(originalTransactionID: renewalInfo.originalTransactionID)
        self.status = status
        productID = renewalInfo.productID
        renewalProductID = renewalInfo.autoRenewProductID
        willRenew = renewalInfo.autoRenewStatus.map { $0 == 1 }
        expirationIntent = renewalInfo.expirationIntent.flatMap(ExpirationIntent.init(code:))
        isInBillingRetry = renewalInfo.isInBillingRetryPeriod
        gracePeriodExpiresDate = renewalInfo.gracePeriodExpiresDate
        priceConsent = renewalInfo.priceIncreaseStatus.flatMap { [0: PriceConsent.pending, 1: .givenOrNotNeeded][$0] }
        let offer = renewalInfo.offerType.flatMap(OfferType.init(rawValue:))
        promotionalOfferID = offer == .promotional ? renewalInfo.offerIdentifier : nil
        offerCodeName = offer == .code ? renewalInfo.offerIdentifier : nil
        signedFields = .value(SignedRenewalFields(renewalInfo))
    }
}

extension ProductType {
    /// Decodes the claim `type`; nil for an unknown type.
    fileprivate init?(claim: String) {
        switch claim {
        case "Auto-Renewable Subscription": self = .autoRenewableSubscription
        case "Non-Consumable": self = .nonConsumable
        case "Consumable": self = .consumable
        case "Non-Renewing Subscription": self = .nonRenewingSubscription
        default: return nil
        }
    }
}
