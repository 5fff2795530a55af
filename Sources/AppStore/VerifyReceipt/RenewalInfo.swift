// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// What is to become of a subscription: an element of `pending_renewal_info`. iOS 6 style answers have the same members
/// beside `status`.
package struct RenewalInfo: AppleObject {
    /// The object as Apple sent it.
    package let json: JSONValue
    /// `original_transaction_id`: the chain; absent in iOS 6 style answers, which are about one subscription.
    package let originalTransactionID: String?
    /// `grace_period_expires_date`: until when the entitlement outlasts its period while Apple tries to bill.
    package let gracePeriodExpiresDate: Timestamp?
    /// `is_in_billing_retry_period`: Apple tries to bill.
    package let isInBillingRetryPeriod: Bool?

    /// Reads what decides about entitlements; `path` is the object's name, for faults.
    init(_ json: JSONValue, path: String) throws(AppStoreFault) {
        let members = DecisiveMembers(json: json, path: path)
        self.json = json
        originalTransactionID = try members.value("original_transaction_id", \.scalarText)
        gracePeriodExpiresDate = try members.date("grace_period_expires_date")
        isInBillingRetryPeriod = try members.value("is_in_billing_retry_period", \.scalarFlag)
    }
}

extension RenewalInfo {
    /// `auto_renew_product_id`: what it renews to.
    package var autoRenewProductID: String? { text("auto_renew_product_id") }
    /// `auto_renew_status`: whether the customer lets it renew.
    package var willAutoRenew: Bool? { flag("auto_renew_status") }
    /// `expiration_intent`; nil also for one that Apple has not documented.
    package var expirationIntent: ExpirationIntent? {
        integer("expiration_intent").flatMap(ExpirationIntent.init(rawValue:))
    }
    /// `offer_code_ref_name`: the offer code that was redeemed, by the developer's name for it.
    package var offerCodeReferenceName: String? { text("offer_code_ref_name") }
    /// `price_consent_status`: whether the customer has agreed to a higher price; absent when not asked.
    package var hasConsentedToPrice: Bool? { flag("price_consent_status") }
    /// `price_increase_status`: whether the customer has agreed to a price increase, or need not; absent when
    /// there is none.
    package var hasConsentedToPriceIncrease: Bool? { flag("price_increase_status") }
    /// `product_id`: what is subscribed to now.
    package var productID: String? { text("product_id") }
    /// `promotional_offer_id`: the promotional offer that was redeemed.
    package var promotionalOfferID: String? { text("promotional_offer_id") }

    /// Why a subscription expired, by Apple's numbers.
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
