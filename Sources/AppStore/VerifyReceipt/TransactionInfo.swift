// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// One transaction of an answer: an element of `in_app` or `latest_receipt_info`, or an iOS 6 style receipt as a whole.
package struct TransactionInfo: AppleObject {
    /// The object as Apple sent it.
    package let json: JSONValue
    /// `product_id`: what was bought.
    package let productID: String
    /// `transaction_id`.
    package let transactionID: String
    /// `original_transaction_id`: the first transaction of the chain.
    package let originalTransactionID: String?
    /// `purchase_date`.
    package let purchaseDate: Timestamp?
    /// `expires_date`: the end of the subscription period; nil for what is no subscription.
    package let expiresDate: Timestamp?
    /// `cancellation_date`: when Apple refunded or revoked it.
    package let cancellationDate: Timestamp?
    /// `is_upgraded`: another subscription of the group has taken the place of this one.
    package let isUpgraded: Bool

    /// Reads what decides about entitlements; `path` is the object's name, for faults.
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
    /// `app_account_token`: a UUID that the app gave to the purchase.
    package var appAccountToken: String? { text("app_account_token") }
    /// `cancellation_reason`: 1 for an issue with the app, 0 for another reason.
    package var cancellationReason: Int64? { integer("cancellation_reason") }
    /// `in_app_ownership_type`; nil also for one that Apple has not documented.
    package var ownershipType: OwnershipType? { text("in_app_ownership_type").flatMap(OwnershipType.init(rawValue:)) }
    /// `is_in_intro_offer_period`.
    package var isInIntroOfferPeriod: Bool? { flag("is_in_intro_offer_period") }
    /// `is_trial_period`.
    package var isTrialPeriod: Bool? { flag("is_trial_period") }
    /// `offer_code_ref_name`: the offer code that was redeemed, by the developer's name for it.
    package var offerCodeReferenceName: String? { text("offer_code_ref_name") }
    /// `original_purchase_date`: when the first transaction of the chain was bought.
    package var originalPurchaseDate: Timestamp? { date("original_purchase_date") }
    /// `promotional_offer_id`: the promotional offer that was redeemed.
    package var promotionalOfferID: String? { text("promotional_offer_id") }
    /// `quantity`.
    package var quantity: Int64? { integer("quantity") }
    /// `subscription_group_identifier`.
    package var subscriptionGroupID: String? { text("subscription_group_identifier") }
    /// `web_order_line_item_id`: names the subscription purchase across devices.
    package var webOrderLineItemID: String? { text("web_order_line_item_id") }

    /// Who owns a purchase.
    package enum OwnershipType: String, Hashable, Sendable {
        /// The customer bought it.
        case purchased = "PURCHASED"
        /// A member of the customer's family did.
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
    /// `unique_identifier`: the device, by an identifier that went out of use in 2013.
    package var uniqueIdentifier: String? { text("unique_identifier") }
    /// `unique_vendor_identifier`: the device, to this developer.
    package var uniqueVendorIdentifier: String? { text("unique_vendor_identifier") }
}
