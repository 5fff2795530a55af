// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Receipts

/// Apple's plan for a subscription, or why it ended: an element of `pending_renewal_info`, or a signed renewal info.
/// Unknown fields are nil.
package struct Renewal: Hashable, Sendable, Redacted {
    /// The reason why a subscription ended. The raw values appear in the API.
    package enum ExpirationIntent: String, CaseIterable, Hashable, Sendable {
        case customerCancelled = "customer_cancelled"
        case billingError = "billing_error"
        case priceIncreaseDeclined = "price_increase_declined"
        case productUnavailable = "product_unavailable"
        case unknown

        /// Decodes Apple's number (`expiration_intent`): 1 to 5, in this order.
        package init?(code: Int64) {
            guard let intent = Self.allCases.first(where: { $0.code == code }) else { return nil }
            self = intent
        }

        /// Apple's number.
        package var code: Int64 {
            switch self {
            case .customerCancelled: 1
            case .billingError: 2
            case .priceIncreaseDeclined: 3
            case .productUnavailable: 4
            case .unknown: 5
            }
        }
    }

    /// The customer's consent to a higher price that requires it. The raw values appear in the API.
    package enum PriceConsent: String, CaseIterable, Hashable, Sendable {
        /// Apple has asked, and the customer has not answered.
        case pending
        case given
        /// StoreKit 2 does not distinguish a given consent from an increase that needs none.
        case givenOrNotNeeded = "given_or_not_needed"
    }

    /// The subscription. After a change of product, Apple may list one plan for each product.
    package var originalTransactionID: String
    /// The product that the plan is about. Of several plans, the latest transaction's plan counts.
    package var productID: String?
    /// The product of the next period.
    package var renewalProductID: String?
    package var willRenew: Bool?
    package var expirationIntent: ExpirationIntent?
    /// True if Apple still tries to collect the payment.
    package var isInBillingRetry: Bool?
    /// The end of the grace period, in which the customer keeps access although the payment failed.
    package var gracePeriodExpiresDate: Timestamp?
    package var priceConsent: PriceConsent?
    /// The promotional offer of the next period.
    package var promotionalOfferID: String?
    package var offerCodeName: String?
    /// The state that Apple last reported together with the plan.
    package var status: ReportedStatus?
    /// True if Apple called the change to the next product a downgrade: only notifications do.
    package var isDowngrade = false
    /// The fields that only signed renewal infos have.
    package var signedFields: HeapBox<SignedRenewalFields>?

    package init(originalTransactionID: String) {
        self.originalTransactionID = originalTransactionID
    }

    /// The time of signing; nil in answers of `verifyReceipt`.
    package var signedDate: Timestamp? { signedFields?.value.signedDate }

    /// Adopts what Apple said about the change of product when it signed another plan, if that was the same change.
    package mutating func adoptChange(of other: Renewal) {
        guard other.isDowngrade, (productID, renewalProductID) == (other.productID, other.renewalProductID) else {
            return
        }
        isDowngrade = true
    }
}

/// The state of a subscription at one time, as Apple reported it (`status`).
///
/// It is signed in notifications. In answers of Get All Subscription Statuses it is a plain member, as trustworthy as
/// the connection. Clients cannot submit a status.
package struct ReportedStatus: Hashable, Sendable {
    package let state: SubscriptionState
    package let date: Timestamp

    package init(_ state: SubscriptionState, at date: Timestamp) { (self.state, self.date) = (state, date) }

    /// - Parameter code: Apple's number (App Store Server API, `status`). An unknown number gives nil.
    package init?(code: Int64, at date: Timestamp) {
        switch code {
        case 1: self.init(.active, at: date)
        case 2: self.init(.expired, at: date)
        case 3: self.init(.inBillingRetry, at: date)
        case 4: self.init(.inGracePeriod, at: date)
        case 5: self.init(.revoked, at: date)
        default: return nil
        }
    }
}

extension Renewal {
    /// The next renewal: after a period, or after the commitment that it is part of.
    package struct Next: Sendable {
        package let productID: String?
        /// Nil if unknown.
        package let willRenew: Bool?
        /// The time of the renewal; nil if unknown.
        package let date: Timestamp?
    }

    package func next(after period: Transaction) -> Next {
        guard !period.isPartOfCommitment else { return afterCommitment }
        return Next(productID: renewalProductID, willRenew: willRenew, date: signedFields?.value.renewalDate)
    }

    /// The renewal after a year that is billed monthly. The payments of the year go on after the customer cancelled, or chose
    /// another product (Apple, "Managing the life cycle of monthly subscriptions with a 12-month commitment").
    var afterCommitment: Next {
        let fields = signedFields?.value
        return Next(
            productID: fields?.commitmentAutoRenewProductID ?? renewalProductID,
            willRenew: willRenew.map { $0 && fields?.commitmentAutoRenewStatus != 0 },
            date: fields?.commitmentRenewalDate ?? fields?.renewalDate)
    }
}
