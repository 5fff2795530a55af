// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// The claims of a signed transaction. By default the renewal of a subscription in the sandbox, in October 2025.
package struct TransactionContents: SignedContents, Hashable {
    /// The part of a yearly commitment that is billed monthly.
    package struct Commitment: Sendable, Hashable {
        /// The number of this billing period, from 1.
        package var billingPeriodNumber: Int64 = 1
        package var totalBillingPeriods: Int64 = 12
        package var expiresDate: Timestamp
        /// The price of all periods in thousandths of the currency.
        package var price: Int64

        package init(expiresDate: Timestamp, price: Int64) {
            self.expiresDate = expiresDate
            self.price = price
        }
    }

    package var transactionID: String? = "2000000900000002"
    package var originalTransactionID: String? = "2000000900000001"
    package var webOrderLineItemID: String? = "2000000090000002"
    package var bundleID: String? = "com.example.forge"
    package var productID: String? = "com.example.forge.monthly"
    package var subscriptionGroupIdentifier: String? = "20900001"
    package var purchaseDate: Timestamp? = Self.signedByDefault.advanced(by: .seconds(-60))
    package var originalPurchaseDate: Timestamp? = Self.signedByDefault.advanced(by: .seconds(-360))
    /// The end of the period: the sandbox shortens a month to some minutes.
    package var expiresDate: Timestamp? = Self.signedByDefault.advanced(by: .seconds(240))
    package var quantity: Int64? = 1
    package var type: String? = "Auto-Renewable Subscription"
    /// The UUID by which the app knows the customer.
    package var appAccountToken: String?
    package var inAppOwnershipType: String? = "PURCHASED"
    /// The time of signing, at which the certificates must be valid.
    package var signedDate: Timestamp? = Self.signedByDefault
    package var revocationDate: Timestamp?
    package var revocationReason: Int64?
    package var revocationType: String?
    /// The refunded part in thousandths of a per cent.
    package var revocationPercentage: Int64?
    package var isUpgraded: Bool?
    package var offerType: Int64?
    package var offerIdentifier: String?
    package var environment: String? = "Sandbox"
    package var transactionReason: String? = "RENEWAL"
    package var storefront: String? = "DEU"
    package var storefrontID: String? = "143443"
    /// The price in thousandths of the currency.
    package var price: Int64? = 4990
    package var currency: String? = "EUR"
    package var offerDiscountType: String?
    /// The length of the offer, such as `P1M` (ISO 8601).
    package var offerPeriod: String?
    package var appTransactionID: String? = "700000000000000001"
    package var previousOriginalTransactionID: String?
    package var billingPlanType: String?
    package var commitment: Commitment?
    /// A JSON object.
    package var advancedCommerceInfo: String?
    package var deviceVerification: String?
    package var deviceVerificationNonce: String?
    package var additionalMembers = ""

    /// The time of signing unless another time is set.
    package static let signedByDefault = Timestamp(millisecondsSince1970: 1_760_000_000_123)

    /// The smallest app transaction ID of forged customers: 7 and 17 further digits.
    package static let firstAppTransactionID: Int64 = 700_000_000_000_000_000

    package init() {}

    /// Returns the app transaction ID of a forged customer: 7 and the original transaction ID in 17 digits.
    package static func appTransactionID(of original: Int64) -> String { String(firstAppTransactionID + original) }

    package func writeClaims(_ json: inout JSONWriter) {
        json.member("transactionId", transactionID)
        json.member("originalTransactionId", originalTransactionID)
        json.member("webOrderLineItemId", webOrderLineItemID)
        json.member("bundleId", bundleID)
        json.member("productId", productID)
        json.member("subscriptionGroupIdentifier", subscriptionGroupIdentifier)
        json.member("purchaseDate", purchaseDate)
        json.member("originalPurchaseDate", originalPurchaseDate)
        json.member("expiresDate", expiresDate)
        json.member("quantity", quantity)
        json.member("type", type)
        json.member("appAccountToken", appAccountToken)
        json.member("inAppOwnershipType", inAppOwnershipType)
        json.member("signedDate", signedDate)
        json.member("revocationReason", revocationReason)
        json.member("revocationDate", revocationDate)
        json.member("revocationType", revocationType)
        json.member("revocationPercentage", revocationPercentage)
        json.member("isUpgraded", isUpgraded)
        json.member("offerType", offerType)
        json.member("offerIdentifier", offerIdentifier)
        json.member("environment", environment)
        json.member("transactionReason", transactionReason)
        json.member("storefront", storefront)
        json.member("storefrontId", storefrontID)
        json.member("price", price)
        json.member("currency", currency)
        json.member("offerDiscountType", offerDiscountType)
        json.member("appTransactionId", appTransactionID)
        json.member("offerPeriod", offerPeriod)
        json.member("previousOriginalTransactionId", previousOriginalTransactionID)
        json.member("billingPlanType", billingPlanType)
        if let commitment { commitment.write(&json) }
        json.member("advancedCommerceInfo", json: advancedCommerceInfo)
        json.member("deviceVerification", deviceVerification)
        json.member("deviceVerificationNonce", deviceVerificationNonce)
    }
}

extension TransactionContents.Commitment {
    fileprivate func write(_ json: inout JSONWriter) {
        json.object("commitmentInfo") { json in
            json.member("billingPeriodNumber", billingPeriodNumber)
            json.member("totalBillingPeriods", totalBillingPeriods)
            json.member("commitmentExpiresDate", expiresDate)
            json.member("commitmentPrice", price)
        }
    }
}
