// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts

extension JSONWriter {
    /// Writes the members of `receipt`, in Apple's order.
    mutating func receiptMembers(_ receipt: ReceiptContents, of account: SimulatedAccount, requestedAt now: Timestamp) {
        member("receipt_type", receipt.receiptType)
        member("adam_id", receipt.adamID)
        member("app_item_id", receipt.adamID)
        member("bundle_id", receipt.bundleID)
        member("application_version", receipt.applicationVersion)
        member("download_id", receipt.downloadID)
        member("version_external_identifier", receipt.versionExternalIdentifier)
        member("receipt_creation_date", receipt.creationDate)
        member("request_date", UTCDate.exact(now))
        member("original_purchase_date", receipt.originalPurchaseDate)
        member("expiration_date", receipt.expirationDate)
        member("preorder_date", receipt.preorderDate)
        member("original_application_version", receipt.originalApplicationVersion)
        let ownershipTypes = account.ownershipTypes
        objects("in_app", of: receipt.purchases) { json, purchase in
            json.members(of: purchase)
            if let recorded = account.recorded?.inApp[purchase.transactionID] {
                json.serverMembers(of: recorded)
            } else {
                json.member("in_app_ownership_type", ownershipTypes[purchase.transactionID])
            }
        }
    }

    /// Writes an element of `latest_receipt_info`: the receipt's fields, and the server's.
    mutating func members(of transaction: SimulatedTransaction) {
        members(of: transaction.purchase)
        serverMembers(of: transaction)
    }

    /// Writes what a receipt does not have.
    private mutating func serverMembers(of transaction: SimulatedTransaction) {
        member("in_app_ownership_type", transaction.hasOwnershipType ? transaction.ownershipType : nil)
        member("is_upgraded", transaction.isUpgraded ? "true" : nil)
        member("offer_code_ref_name", transaction.offerCode)
        member("subscription_group_identifier", transaction.hasGroup ? transaction.subscriptionGroup : nil)
        member("app_account_token", transaction.appAccountToken)
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
        member("cancellation_reason", purchase.cancellationReason?.rawValue.description)
        member("web_order_line_item_id", purchase.webOrderLineItemText)
        member("is_trial_period", purchase.isTrialPeriod?.description)
        member("is_in_intro_offer_period", purchase.isInIntroOfferPeriod?.description)
        member("promotional_offer_id", purchase.promotionalOfferID)
    }

    /// Writes an element of `pending_renewal_info`.
    mutating func members(of renewal: SimulatedRenewal) {
        member("auto_renew_product_id", renewal.nextProductID)
        member("product_id", renewal.productID)
        member("original_transaction_id", renewal.originalTransactionID)
        member("auto_renew_status", renewal.isOn ? "1" : "0")
        member("expiration_intent", renewal.expirationIntent?.description)
        member("is_in_billing_retry_period", renewal.isInBillingRetry.map { $0 ? "1" : "0" })
        member("grace_period_expires_date", renewal.gracePeriodExpires)
        member("price_consent_status", renewal.priceConsentStatus?.description)
        member("price_increase_status", renewal.priceIncreaseStatus?.description)
        member("offer_code_ref_name", renewal.offerCode)
        member("promotional_offer_id", renewal.promotionalOfferID)
    }
}

extension JSONWriter {
    /// Writes `name`, `name_ms` and `name_pst`; nothing for nil.
    mutating func member(_ name: StaticString, _ date: UTCDate?) {
        guard let date else { return }
        member(name, date.gmtText)
        member(name, suffix: "_ms", date.millisecondsText)
        member(name, suffix: "_pst", date.pacificText)
    }
}
