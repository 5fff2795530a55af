// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge

/// An answer in the form for iOS 6 style receipts: one purchase, as an object; `expires_date` in milliseconds; status
/// 21006 for an expired subscription.
struct IOS6Answer {
    let receipt: ReceiptContents
    let subscription: Subscription
    let now: UTCDate
    let latestReceipt: String

    /// Writes the members of the answer, except `status`.
    func write(to json: inout JSONWriter) {
        let newest = subscription.newest.purchase
        let sent = receipt.purchases.last { $0.originalTransactionID == newest.originalTransactionID } ?? newest
        json.object("receipt") { write(sent, to: &$0) }
        json.object(isOver ? "latest_expired_receipt_info" : "latest_receipt_info") { write(newest, to: &$0) }
        json.member("latest_receipt", latestReceipt)
        json.member("auto_renew_product_id", subscription.renewal.nextProductID)
        json.member("auto_renew_status", subscription.renewal.isOn ? 1 : 0)
        json.member("expiration_intent", subscription.renewal.expirationIntent?.description)
        json.member("is_in_billing_retry_period", subscription.renewal.isInBillingRetry.map { $0 ? "1" : "0" })
    }

    var status: Int { isOver ? 21006 : 0 }

    private var isOver: Bool { subscription.newest.purchase.expiresDate.map { $0 <= now } ?? false }

    private func write(_ purchase: PurchaseContents, to json: inout JSONWriter) {
        json.member("bid", receipt.bundleID)
        json.member("bvrs", receipt.applicationVersion)
        json.member("item_id", String(receipt.adamID))
        json.member("unique_identifier", "0000000000000000000000000000000000000000")
        json.member("product_id", purchase.productID)
        json.member("quantity", String(purchase.quantity))
        json.member("transaction_id", purchase.transactionID)
        json.member("original_transaction_id", purchase.originalTransactionID)
        json.member("web_order_line_item_id", String(purchase.webOrderLineItemID))
        json.member("purchase_date", purchase.purchaseDate)
        json.member("original_purchase_date", purchase.originalPurchaseDate)
        json.member("cancellation_date", purchase.cancellationDate)
        if let expires = purchase.expiresDate.map(AppleDate.init) {
            json.member("expires_date", expires.milliseconds)
            json.member("expires_date_formatted", expires.plain)
            json.member("expires_date_formatted_pst", expires.losAngeles)
        }
        json.member("is_trial_period", purchase.isTrialPeriod?.description)
    }
}
