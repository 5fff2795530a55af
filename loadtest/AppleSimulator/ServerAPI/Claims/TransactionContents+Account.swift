// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

extension TransactionContents {
    /// The claims of a transaction in an answer of verifyReceipt, without the time of signing.
    init(_ transaction: SimulatedTransaction, of customer: Customer) {
        self.init()
        let purchase = transaction.purchase
        transactionID = purchase.transactionID
        originalTransactionID = purchase.originalTransactionID
        webOrderLineItemID = purchase.webOrderLineItemText
        bundleID = customer.app.bundleID
        productID = purchase.productID
        subscriptionGroupIdentifier = transaction.subscriptionGroup
        purchaseDate = purchase.purchaseDate.timestamp
        originalPurchaseDate = purchase.originalPurchaseDate.timestamp
        expiresDate = purchase.expiresDate?.timestamp
        quantity = purchase.quantity
        type = transaction.productType.names.claim
        appAccountToken = transaction.appAccountToken
        inAppOwnershipType = transaction.ownershipType
        environment = customer.app.environment
        transactionReason = transaction.isRenewal ? "RENEWAL" : "PURCHASE"
        appTransactionID = customer.appTransactionID
        isUpgraded = transaction.isUpgraded ? true : nil
        signedDate = nil
        revoke(transaction)
        sell(transaction)
    }

    /// `revocationDate` and `revocationReason` are `cancellation_date` and `cancellation_reason`.
    private mutating func revoke(_ transaction: SimulatedTransaction) {
        let purchase = transaction.purchase
        revocationDate = purchase.cancellationDate?.timestamp
        revocationReason = purchase.cancellationReason?.rawValue
        guard purchase.cancellationReason != nil else { return }
        revocationType = transaction.isFamilyShared ? "FAMILY_REVOKE" : "REFUND_FULL"
        revocationPercentage = transaction.isFamilyShared ? nil : 100_000
    }

    /// `is_trial_period` is FREE_TRIAL, `is_in_intro_offer_period` offer type 1 without it, `promotional_offer_id` the
    /// identifier of offer type 2, `offer_code_ref_name` the identifier of offer type 3.
    private mutating func sell(_ transaction: SimulatedTransaction) {
        let offer = transaction.offer
        offerType = offer?.type
        offerIdentifier = offer?.identifier
        offerDiscountType = offer?.discountType
        offerPeriod = offer.map { _ in "P1M" }
        price = offer?.discountType == "FREE_TRIAL" ? 0 : 4990 * transaction.purchase.quantity
    }
}

extension SimulatedTransaction {
    /// An offer as claims say it.
    struct Offer: Hashable, Sendable {
        let type: Int64
        var identifier: String?
        let discountType: String
    }

    var offer: Offer? {
        let isTrial = purchase.isTrialPeriod == true
        let discountType = isTrial ? "FREE_TRIAL" : "PAY_AS_YOU_GO"
        if let promotional = purchase.promotionalOfferID {
            return Offer(type: 2, identifier: promotional, discountType: discountType)
        }
        if let offerCode { return Offer(type: 3, identifier: offerCode, discountType: discountType) }
        // Claims cannot express a trial that is also an introductory price, as one old answer of Apple's has it.
        let isIntroductory = isTrial || purchase.isInIntroOfferPeriod == true
        return isIntroductory ? Offer(type: 1, discountType: discountType) : nil
    }

    var isRenewal: Bool { purchase.isSubscription && purchase.transactionID != purchase.originalTransactionID }

    /// True for a consumable, finished or not.
    var isConsumable: Bool { productType == .consumable }

    /// The type. Receipts of other tools may have none for single items.
    var productType: PurchaseContents.ProductType {
        if purchase.isSubscription { return .autoRenewableSubscription }
        guard let type = purchase.productType, type != .autoRenewableSubscription else { return .nonConsumable }
        return type
    }
}

extension PurchaseContents.ProductType {
    /// The claim `type`, and the value of the history's parameter `productType`.
    var names: (claim: String, filter: String) {
        switch self {
        case .autoRenewableSubscription: ("Auto-Renewable Subscription", "AUTO_RENEWABLE")
        case .nonRenewingSubscription: ("Non-Renewing Subscription", "NON_RENEWABLE")
        case .consumable: ("Consumable", "CONSUMABLE")
        case .nonConsumable: ("Non-Consumable", "NON_CONSUMABLE")
        }
    }
}

extension RenewalInfoContents {
    /// The claims of a subscription's renewal, as in `pending_renewal_info`, without the time of signing.
    init(_ subscription: SimulatedSubscription, of customer: Customer) {
        self.init()
        let (renewal, newest) = (subscription.renewal, subscription.newest.purchase)
        expirationIntent = renewal.expirationIntent.map(Int64.init)
        originalTransactionID = newest.originalTransactionID
        autoRenewProductID = renewal.nextProductID
        productID = renewal.productID
        autoRenewStatus = renewal.isOn ? 1 : 0
        isInBillingRetryPeriod = renewal.isInBillingRetry
        priceIncreaseStatus = (renewal.priceIncreaseStatus ?? renewal.priceConsentStatus).map(Int64.init)
        gracePeriodExpiresDate = renewal.gracePeriodExpires?.timestamp
        signedDate = nil
        environment = customer.app.environment
        recentSubscriptionStartDate = subscription.periods.first?.purchase.purchaseDate.timestamp
        renewalDate = newest.expiresDate?.timestamp
        if !renewal.isOn { (renewalPrice, currency) = (nil, nil) }
        appAccountToken = subscription.newest.appAccountToken
        appTransactionID = customer.appTransactionID
        discount(renewal)
    }

    private mutating func discount(_ renewal: SimulatedRenewal) {
        offerDiscountType = nil
        if let code = renewal.offerCode {
            (offerType, offerIdentifier) = (3, code)
        } else if let promotional = renewal.promotionalOfferID {
            (offerType, offerIdentifier) = (2, promotional)
        }
    }
}

/// A value of `status` in the answer about a customer's subscriptions.
enum SubscriptionStatus: Int, Hashable, Sendable {
    case active = 1
    case expired, billingRetry, gracePeriod, revoked
}

extension SimulatedSubscription {
    /// Returns true while a period runs that was not revoked.
    func isRunning(at date: UTCDate) -> Bool { status(at: date) == .active }

    func status(at date: UTCDate) -> SubscriptionStatus {
        let purchase = newest.purchase
        if purchase.cancellationDate != nil, !newest.isUpgraded { return .revoked }
        if let end = purchase.expiresDate, end > date { return .active }
        if let grace = renewal.gracePeriodExpires, grace > date { return .gracePeriod }
        return renewal.isInBillingRetry == true ? .billingRetry : .expired
    }
}

extension AppTransactionContents {
    /// The claims of a customer's app transaction, without the time of signing. Apple's servers leave out the version and
    /// the device.
    init(_ customer: Customer) {
        self.init()
        let receipt = customer.contents
        receiptType = customer.app.environment
        appAppleID = customer.appAppleID ?? 0
        bundleID = customer.app.bundleID
        (applicationVersion, versionExternalIdentifier) = (nil, nil)
        (deviceVerification, deviceVerificationNonce) = (nil, nil)
        receiptCreationDate = nil
        originalPurchaseDate = receipt.originalPurchaseDate.timestamp
        originalApplicationVersion = receipt.originalApplicationVersion
        preorderDate = receipt.preorderDate?.timestamp
        appTransactionID = customer.appTransactionID
    }
}

extension Customer {
    /// The app's number in the App Store; nil in the sandbox, where Apple has none.
    var appAppleID: Int64? {
        app.endpoint == .production && contents.adamID != 0 ? contents.adamID : app.appAppleID
    }
}
