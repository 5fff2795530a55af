// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// The future of a subscription: an element of `pending_renewal_info`, or members of an iOS 6 style answer.
package struct RenewalInfo: AppleObject {
    package let json: JSONValue
    /// `original_transaction_id`: the chain; absent in iOS 6 style answers, which are about one subscription.
    package let originalTransactionID: String?
    /// `grace_period_expires_date`: the end of access while Apple tries to bill.
    package let gracePeriodExpiresDate: Timestamp?
    /// `is_in_billing_retry_period`: Apple tries to bill.
    package let isInBillingRetryPeriod: Bool?

    /// Parses the members that decide about entitlements; `path` is the object's name, for faults.
    init(_ json: JSONValue, path: String) throws(AppStoreFault) {
        let members = DecisiveMembers(json: json, path: path)
        self.json = json
        originalTransactionID = try members.value("original_transaction_id", \.scalarText)
        gracePeriodExpiresDate = try members.date("grace_period_expires_date")
        isInBillingRetryPeriod = try members.value("is_in_billing_retry_period", \.scalarFlag)
    }
}

extension RenewalInfo {
    /// `auto_renew_product_id`: the product of the next period.
    package var autoRenewProductID: String? { text("auto_renew_product_id") }
    /// `auto_renew_status`: true if the customer left renewal on.
    package var willAutoRenew: Bool? { flag("auto_renew_status") }
    /// `expiration_intent`; nil also for one that Apple has not documented.
    package var expirationIntent: ExpirationIntent? {
        integer("expiration_intent").flatMap(ExpirationIntent.init(rawValue:))
    }
    /// `offer_code_ref_name`: the developer's name of the redeemed offer code.
    package var offerCodeReferenceName: String? { text("offer_code_ref_name") }
    /// `price_consent_status`: the customer's consent to a higher price; absent if not requested.
    package var hasConsentedToPrice: Bool? { flag("price_consent_status") }
    /// `price_increase_status`: true if the customer agreed to a price increase, or need not; absent without one.
    package var hasConsentedToPriceIncrease: Bool? { flag("price_increase_status") }
    package var productID: String? { text("product_id") }
    /// `promotional_offer_id`: the redeemed promotional offer.
    package var promotionalOfferID: String? { text("promotional_offer_id") }

    /// The reason why a subscription expired, by Apple's numbers.
    package enum ExpirationIntent: Int64, Hashable, Sendable {
        /// The customer cancelled it.
        case cancelled = 1
        /// It could not be billed.
        case billingError = 2
        /// The customer did not agree to a higher price.
        case priceIncrease = 3
        /// The product was not on sale when it was to renew.
        case productUnavailable = 4
        /// For another reason.
        case other = 5
    }
}
