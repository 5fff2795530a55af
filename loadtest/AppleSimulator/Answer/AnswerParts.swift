// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

extension JSONText {
    /// Writes the members of `receipt`, in Apple's order.
    ///
    /// - Returns: the position for the dates of the request, each member with a comma before it.
    mutating func receiptMembers(_ receipt: ReceiptContents) -> Int {
        member("receipt_type", receipt.receiptType)
        member("adam_id", receipt.adamID)
        member("app_item_id", receipt.adamID)
        member("bundle_id", receipt.bundleID)
        member("application_version", receipt.applicationVersion)
        member("download_id", receipt.downloadID)
        member("version_external_identifier", receipt.versionExternalIdentifier)
        member("receipt_creation_date", receipt.creationDate)
        let placeOfRequestDate = bytes.count
        member("original_purchase_date", receipt.originalPurchaseDate)
        member("expiration_date", receipt.expirationDate)
        member("preorder_date", receipt.preorderDate)
        member("original_application_version", receipt.originalApplicationVersion)
        array("in_app") { list in
            for purchase in receipt.purchases { list.object { $0.members(of: purchase) } }
        }
        return placeOfRequestDate
    }

    /// Writes an element of `latest_receipt_info`: the receipt's fields, and the server's.
    mutating func members(of transaction: Transaction) {
        members(of: transaction.purchase)
        member("in_app_ownership_type", transaction.isFamilyShared ? "FAMILY_SHARED" : "PURCHASED")
        if transaction.isUpgraded { member("is_upgraded", "true") }
        if let code = transaction.offerCode { member("offer_code_ref_name", code) }
        if transaction.purchase.isSubscription { member("subscription_group_identifier", "20000001") }
    }

    /// Writes an element of `in_app`. All values are texts.
    private mutating func members(of purchase: PurchaseContents) {
        member("quantity", String(purchase.quantity))
        member("product_id", purchase.productID)
        member("transaction_id", purchase.transactionID)
        member("original_transaction_id", purchase.originalTransactionID)
        member("purchase_date", purchase.purchaseDate)
        member("original_purchase_date", purchase.originalPurchaseDate)
        member("expires_date", purchase.expiresDate)
        member("cancellation_date", purchase.cancellationDate)
        if let reason = purchase.cancellationReason { member("cancellation_reason", String(reason.rawValue)) }
        if purchase.webOrderLineItemID != 0 {
            member("web_order_line_item_id", String(purchase.webOrderLineItemID))
        }
        if let isTrial = purchase.isTrialPeriod { member("is_trial_period", String(isTrial)) }
        if let isIntro = purchase.isInIntroOfferPeriod { member("is_in_intro_offer_period", String(isIntro)) }
        if let offer = purchase.promotionalOfferID { member("promotional_offer_id", offer) }
    }

    /// Writes an element of `pending_renewal_info`.
    mutating func members(of renewal: Renewal, in subscription: Subscription) {
        let newest = subscription.newest.purchase
        member("auto_renew_product_id", renewal.nextProductID)
        member("product_id", renewal.productID)
        member("original_transaction_id", newest.originalTransactionID)
        member("auto_renew_status", renewal.isOn ? "1" : "0")
        if let intent = renewal.expirationIntent { member("expiration_intent", String(intent)) }
        if let isInRetry = renewal.isInBillingRetry { member("is_in_billing_retry_period", isInRetry ? "1" : "0") }
        member("grace_period_expires_date", renewal.gracePeriodExpires)
        if renewal.awaitsPriceConsent {
            member("price_consent_status", "0")
            member("price_increase_status", "0")
        }
        if let code = renewal.offerCode { member("offer_code_ref_name", code) }
        if renewal.productID == newest.productID, let offer = newest.promotionalOfferID {
            member("promotional_offer_id", offer)
        }
    }
}
