// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge

/// An answer in the form for transaction receipts (iOS 6): one purchase, as an object; `expires_date` in milliseconds;
/// status 21006 for an expired subscription.
struct IOS6Answer {
    /// The purchase that was sent.
    let sent: TransactionReceiptContents
    /// The last period of its subscription, and the renewal; nil for other products. Answers of 2012 have no renewal.
    let latest: (period: TransactionReceiptContents, renewal: SimulatedRenewal?)?
    let now: UTCDate
    /// In base64; nil for other products. Not in an answer about an expired subscription.
    let latestReceipt: String?
    /// True if a recorded answer is about an expired subscription; nil without a recorded answer: the end of the period
    /// decides, or its refund.
    var isRecordedAsOver: Bool?

    /// Writes the members of the answer, except `status`.
    func write(to json: inout JSONWriter) {
        json.object("receipt") { $0.members(of: sent) }
        guard let (period, renewal) = latest else { return }
        json.object(isOver ? "latest_expired_receipt_info" : "latest_receipt_info") { $0.members(of: period) }
        if !isOver { json.member("latest_receipt", latestReceipt) }
        guard let renewal else { return }
        json.member("auto_renew_product_id", renewal.nextProductID)
        json.member("auto_renew_status", renewal.isOn ? 1 : 0)
        json.member("expiration_intent", renewal.expirationIntent?.description)
        json.member("is_in_billing_retry_period", renewal.isInBillingRetry.map { $0 ? "1" : "0" })
    }

    var status: Int { isOver ? 21006 : 0 }

    private var isOver: Bool { isRecordedAsOver ?? latest?.period.isOver(at: now) ?? false }
}

extension TransactionReceiptContents {
    fileprivate func isOver(at now: UTCDate) -> Bool {
        expiresDate.map { $0 <= now || cancellationDate != nil } ?? false
    }
}

extension JSONWriter {
    /// Writes the fields of a transaction receipt, under their names with underscores.
    fileprivate mutating func members(of transaction: TransactionReceiptContents) {
        member("bid", transaction.bundleID)
        member("bvrs", transaction.applicationVersion)
        member("item_id", transaction.itemID)
        member("app_item_id", transaction.appItemID)
        member("version_external_identifier", transaction.versionExternalIdentifier)
        member("unique_identifier", transaction.uniqueIdentifier)
        member("unique_vendor_identifier", transaction.uniqueVendorIdentifier)
        member("product_id", transaction.productID)
        member("quantity", transaction.quantity.map { String($0) })
        member("transaction_id", transaction.transactionID)
        member("original_transaction_id", transaction.originalTransactionID)
        member("web_order_line_item_id", transaction.webOrderLineItemID)
        member("purchase_date", transaction.purchaseDate)
        member("original_purchase_date", transaction.originalPurchaseDate)
        member("cancellation_date", transaction.cancellationDate)
        member("cancellation_reason", transaction.cancellationReason?.rawValue.description)
        if let expires = transaction.expiresDate.map(SimulatedDate.init) {
            member("expires_date", expires.milliseconds)
            member("expires_date_formatted", expires.plain)
            member("expires_date_formatted_pst", expires.losAngeles)
        }
        member("is_trial_period", transaction.isTrialPeriod?.description)
        member("is_in_intro_offer_period", transaction.isInIntroOfferPeriod?.description)
    }
}
