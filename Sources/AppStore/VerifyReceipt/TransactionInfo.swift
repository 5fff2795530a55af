// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// One transaction of an answer: an element of `in_app` or `latest_receipt_info`, or an iOS 6 style receipt as a whole.
package struct TransactionInfo: AppleObject {
    package let json: JSONValue
    package let productID: String
    package let transactionID: String
    /// `original_transaction_id`: the first transaction of the chain.
    package let originalTransactionID: String?
    package let purchaseDate: Timestamp?
    /// `expires_date`: the end of the subscription period; nil for other products.
    package let expiresDate: Timestamp?
    /// `cancellation_date`: the time when Apple refunded or revoked it.
    package let cancellationDate: Timestamp?
    /// `is_upgraded`: true if another subscription of the group replaced this one.
    package let isUpgraded: Bool

    /// Parses the members that decide about entitlements; `path` is the object's name, for faults.
    init(_ json: JSONValue, path: String) throws(AppStoreFault) {
        let members = DecisiveMembers(json: json, path: path + ".")
        self.json = json
        productID = try members.text("product_id")
        transactionID = try members.text("transaction_id")
        originalTransactionID = try members.value("original_transaction_id", \.scalarText)
        purchaseDate = try members.date("purchase_date")
        expiresDate = try members.date("expires_date")
        cancellationDate = try members.date("cancellation_date")
        isUpgraded = try members.value("is_upgraded", \.scalarFlag) ?? false
    }
}

extension TransactionInfo {
    /// `app_account_token`: the UUID that the app assigned to the purchase.
    package var appAccountToken: String? { text("app_account_token") }
    /// `cancellation_reason`: 1 for an issue with the app, 0 for another reason.
    package var cancellationReason: Int64? { integer("cancellation_reason") }
    /// `in_app_ownership_type`; nil also for one that Apple has not documented.
    package var ownershipType: OwnershipType? { text("in_app_ownership_type").flatMap(OwnershipType.init(rawValue:)) }
    package var isInIntroOfferPeriod: Bool? { flag("is_in_intro_offer_period") }
    package var isTrialPeriod: Bool? { flag("is_trial_period") }
    /// `offer_code_ref_name`: the developer's name of the redeemed offer code.
    package var offerCodeReferenceName: String? { text("offer_code_ref_name") }
    /// `original_purchase_date`: the purchase date of the chain's first transaction.
    package var originalPurchaseDate: Timestamp? { date("original_purchase_date") }
    /// `promotional_offer_id`: the redeemed promotional offer.
    package var promotionalOfferID: String? { text("promotional_offer_id") }
    package var quantity: Int64? { integer("quantity") }
    package var subscriptionGroupID: String? { text("subscription_group_identifier") }
    /// `web_order_line_item_id`: the ID of the subscription purchase across devices.
    package var webOrderLineItemID: String? { text("web_order_line_item_id") }

    /// The owner of a purchase.
    package enum OwnershipType: String, Hashable, Sendable {
        /// The customer bought it.
        case purchased = "PURCHASED"
        /// A member of the customer's family bought it.
        case familyShared = "FAMILY_SHARED"
    }
}

// MARK: - iOS 6 style

extension TransactionInfo {
    /// `bid`: the app.
    package var bundleID: String? { text("bid") }
    /// `bvrs`: the app's version.
    package var applicationVersion: String? { text("bvrs") }
    /// `item_id`: the product's number in the App Store.
    package var itemID: String? { text("item_id") }
    /// `unique_identifier`: the device, by an identifier that Apple retired in 2013.
    package var uniqueIdentifier: String? { text("unique_identifier") }
    /// `unique_vendor_identifier`: the device, by its identifier for this developer.
    package var uniqueVendorIdentifier: String? { text("unique_vendor_identifier") }
}
