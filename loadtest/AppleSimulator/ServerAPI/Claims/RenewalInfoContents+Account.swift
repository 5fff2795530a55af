// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

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
        environment = customer.app.endpoint.environment.rawValue
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
