// SPDX-License-Identifier: Apache-2.0

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
        readOffer(transaction.signedFields)
        signedFields = .value(transaction.signedFields)
    }

    private mutating func readOffer(_ fields: SignedTransactionFields) {
        let offer = fields.offerType.flatMap(OfferType.init(rawValue:))
        isTrialPeriod = fields.offerDiscountType == "FREE_TRIAL"
        isInIntroOfferPeriod = offer == .introductory && isTrialPeriod == false
        promotionalOfferID = offer == .promotional ? fields.offerIdentifier : nil
        offerCodeName = offer == .code ? fields.offerIdentifier : nil
    }
}

extension Renewal {
    package init(_ renewalInfo: VerifiedRenewalInfo, _ status: ReportedStatus? = nil) {
        self.init(originalTransactionID: renewalInfo.originalTransactionID)
        self.status = status
        productID = renewalInfo.productID
        renewalProductID = renewalInfo.autoRenewProductID
        willRenew = renewalInfo.autoRenewStatus == 1
        expirationIntent = renewalInfo.expirationIntent.flatMap(ExpirationIntent.init(code:))
        isInBillingRetry = renewalInfo.isInBillingRetryPeriod
        gracePeriodExpiresDate = renewalInfo.gracePeriodExpiresDate
        priceConsent = renewalInfo.priceIncreaseStatus.flatMap { [0: PriceConsent.pending, 1: .givenOrNotNeeded][$0] }
        let fields = renewalInfo.signedFields, offer = fields.offerType.flatMap(OfferType.init(rawValue:))
        promotionalOfferID = offer == .promotional ? fields.offerIdentifier : nil
        offerCodeName = offer == .code ? fields.offerIdentifier : nil
        signedFields = .value(renewalInfo.signedFields)
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
