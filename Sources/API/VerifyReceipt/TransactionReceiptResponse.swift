// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import JSON
internal import Receipts

/// The JSON that `verifyReceipt` would return for a transaction receipt (iOS 6) verified here.
///
/// `receipt` has the signed fields under their names with underscores. Refunds, later periods, and whether the subscription
/// renews, come from the App Store Server API or notifications; without these they are left out.
struct TransactionReceiptResponse: Sendable {
    let receipt: VerifiedTransactionReceipt
    /// True for a subscription that has ended: the status is 21006.
    let isLapsed: Bool
    /// The purchase as Apple knows it now; nil if only the receipt is known.
    var purchase: Transaction?
    /// The latest period of the subscription; nil if only the receipt is known.
    var period: Transaction?
    /// Apple's plan for the subscription; nil if unknown.
    var plan: Renewal?
    /// `latest_receipt` of an earlier answer of Apple, in base64; nil answers with the receipt itself.
    var latestReceipt: String?

    var body: [UInt8] {
        let status: VerifyReceiptStatus = isLapsed ? .subscriptionExpired : .valid
        return JSONWriter.object(reservingCapacity: 2 * receipt.bytes.count) { json in
            json.member("status", status.code)
            json.write(sentFields, named: "receipt")
            guard receipt.expiresDate != nil else { return }
            json.write(latestFields, named: isLapsed ? "latest_expired_receipt_info" : "latest_receipt_info")
            if hasLatestReceipt { json.latestReceipt(latestReceipt, else: receipt.bytes) }
            if let plan { json.plan(plan) }
        }
    }

    var hasLatestReceipt: Bool { receipt.expiresDate != nil && !isLapsed }

    private typealias Field = (name: String, value: String)

    private var signedFields: [Field] {
        receipt.fields.map { (String($0.name.map { $0 == "-" ? "_" : $0 }), $0.value) }
    }

    /// The signed fields, and the later refund of this purchase, if any.
    private var sentFields: [Field] {
        guard let purchase, receipt.cancellationDate == nil else { return signedFields }
        return signedFields + Self.cancellation(of: purchase)
    }

    /// The fields of the period: the fields of the app and the device are from the receipt, and the other fields are replaced.
    private var latestFields: [Field] {
        guard let period else { return signedFields }
        let signed = signedFields, known = Self.fields(of: period)
        // Old receipts have no flags of offers, and the number of another product is unknown.
        let names = Set(signed.map(\.name)), replaced = Set(known.map(\.name) + Self.cancellationNames)
        let others = signed.filter { field in
            !replaced.contains(field.name) && (field.name != "item_id" || period.productID == receipt.productID)
        }
        return others
            + known.filter { !Self.offerFlags.contains($0.name) || names.contains($0.name) || $0.value == "true" }
    }

    private static let offerFlags = ["is_trial_period", "is_in_intro_offer_period"]
    private static let cancellationNames = [
        "cancellation_date", "cancellation_date_ms", "cancellation_date_pst", "cancellation_reason",
    ]

    private static func fields(of transaction: Transaction) -> [Field] {
        let texts: [(String, String?)] = [
            ("quantity", transaction.quantity.map { String($0) }), ("product_id", transaction.productID),
            ("transaction_id", transaction.transactionID),
            ("original_transaction_id", transaction.originalTransactionID),
            ("web_order_line_item_id", transaction.webOrderLineItemID),
            ("is_trial_period", transaction.isTrialPeriod?.description),
            ("is_in_intro_offer_period", transaction.isInIntroOfferPeriod?.description),
        ]
        let dates: [(String, Timestamp?)] = [
            ("purchase_date", transaction.purchaseDate), ("original_purchase_date", transaction.originalPurchaseDate),
        ]
        return texts.compactMap { name, value in value.map { (name, $0) } }
            + dates.flatMap { name, date in date.map { fields(of: AppleDate($0), named: name) } ?? [] }
            + cancellation(of: transaction) + (transaction.expiresDate.map { end(AppleDate($0)) } ?? [])
    }

    private static func cancellation(of transaction: Transaction) -> [Field] {
        guard let date = transaction.cancellationDate else { return [] }
        let reason = transaction.cancellationReason.map { ("cancellation_reason", String($0)) }
        return fields(of: AppleDate(date), named: "cancellation_date") + [reason].compactMap(\.self)
    }

    private static func fields(of date: AppleDate, named name: String) -> [Field] {
        [(name, date.gmt), (name + "_ms", date.milliseconds), (name + "_pst", date.pacific)]
    }

    /// The end of a period, which has other names here.
    private static func end(_ date: AppleDate) -> [Field] {
        [
            ("expires_date", date.milliseconds), ("expires_date_formatted", date.gmt),
            ("expires_date_formatted_pst", date.pacific),
        ]
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ fields: [(name: String, value: String)], named name: StaticString) {
        object(name) { json in
            for field in fields { json.member(named: field.name, field.value) }
        }
    }

    /// Writes the members about the renewal, which stand beside `status` in this form.
    fileprivate mutating func plan(_ plan: Renewal) {
        member("auto_renew_product_id", plan.renewalProductID)
        member("auto_renew_status", plan.willRenew.map { Int64($0 ? 1 : 0) })
        guard let intent = plan.expirationIntent else { return }
        member("expiration_intent", String(intent.code))
        member("is_in_billing_retry_period", plan.isInBillingRetry == true ? "1" : "0")
    }
}
