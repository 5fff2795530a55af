// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// The claims of a signed renewal info, by default of the subscription of `TransactionContents`. It names no app.
package struct RenewalInfoContents: SignedContents, Hashable {
    /// The next commitment, billed monthly.
    package struct Commitment: Sendable, Hashable {
        package var autoRenewProductID: String
        package var autoRenewStatus: Int64
        package var renewalDate: Timestamp
        /// The price in thousandths of the currency.
        package var renewalPrice: Int64
        package var renewalBillingPlanType: String? = "MONTHLY"

        package init(
            autoRenewProductID: String, autoRenewStatus: Int64 = 1, renewalDate: Timestamp, renewalPrice: Int64
        ) {
            self.autoRenewProductID = autoRenewProductID
            self.autoRenewStatus = autoRenewStatus
            self.renewalDate = renewalDate
            self.renewalPrice = renewalPrice
        }
    }

    package var expirationIntent: Int64?
    package var originalTransactionID: String? = "2000000900000001"
    package var autoRenewProductID: String? = "com.example.forge.monthly"
    package var productID: String? = "com.example.forge.monthly"
    package var autoRenewStatus: Int64? = 1
    package var isInBillingRetryPeriod: Bool?
    package var priceIncreaseStatus: Int64?
    package var gracePeriodExpiresDate: Timestamp?
    package var offerType: Int64?
    package var offerIdentifier: String?
    package var signedDate: Timestamp? = TransactionContents.signedByDefault
    package var environment: String? = "Sandbox"
    package var recentSubscriptionStartDate: Timestamp? = TransactionContents.signedByDefault.advanced(
        by: .seconds(-360))
    package var renewalDate: Timestamp? = TransactionContents.signedByDefault.advanced(by: .seconds(240))
    package var currency: String? = "EUR"
    /// The price in thousandths of the currency.
    package var renewalPrice: Int64? = 4990
    package var offerDiscountType: String?
    /// The length of the offer, such as `P1M` (ISO 8601).
    package var offerPeriod: String?
    /// The best offer first.
    package var eligibleWinBackOfferIDs: [String]?
    package var appAccountToken: String?
    package var appTransactionID: String? = "700000000000000001"
    package var previousOriginalTransactionID: String?
    package var renewalBillingPlanType: String?
    package var commitment: Commitment?
    /// A JSON object.
    package var advancedCommerceInfo: String?
    package var additionalMembers = ""

    package init() {}

    package func writeClaims(_ json: inout JSONWriter) {
        json.member("expirationIntent", expirationIntent)
        json.member("originalTransactionId", originalTransactionID)
        json.member("autoRenewProductId", autoRenewProductID)
        json.member("productId", productID)
        json.member("autoRenewStatus", autoRenewStatus)
        json.member("isInBillingRetryPeriod", isInBillingRetryPeriod)
        json.member("priceIncreaseStatus", priceIncreaseStatus)
        json.member("gracePeriodExpiresDate", gracePeriodExpiresDate)
        json.member("offerType", offerType)
        json.member("offerIdentifier", offerIdentifier)
        json.member("signedDate", signedDate)
        json.member("environment", environment)
        json.member("recentSubscriptionStartDate", recentSubscriptionStartDate)
        json.member("renewalDate", renewalDate)
        json.member("currency", currency)
        json.member("renewalPrice", renewalPrice)
        json.member("offerDiscountType", offerDiscountType)
        json.member("offerPeriod", offerPeriod)
        if let eligibleWinBackOfferIDs { json.strings("eligibleWinBackOfferIds", eligibleWinBackOfferIDs) }
        json.member("appTransactionId", appTransactionID)
        json.member("appAccountToken", appAccountToken)
        json.member("previousOriginalTransactionId", previousOriginalTransactionID)
        json.member("renewalBillingPlanType", renewalBillingPlanType)
        if let commitment { commitment.write(&json) }
        json.member("advancedCommerceInfo", json: advancedCommerceInfo)
    }
}

extension RenewalInfoContents.Commitment {
    fileprivate func write(_ json: inout JSONWriter) {
        json.object("commitmentInfo") { json in
            json.member("commitmentAutoRenewProductId", autoRenewProductID)
            json.member("commitmentAutoRenewStatus", autoRenewStatus)
            json.member("commitmentRenewalDate", renewalDate)
            json.member("commitmentRenewalPrice", renewalPrice)
            json.member("commitmentRenewalBillingPlanType", renewalBillingPlanType)
        }
    }
}
