// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import JSON
internal import Receipts

/// The JSON that `verifyReceipt` would return for a receipt verified here, with Apple's names, types, dates and order.
///
/// It contains what is signed: in the receipt, and in the answer of the App Store Server API or in notifications, if any.
/// Without these some parts are left out: renewals and refunds after the receipt was made, `pending_renewal_info`, ownership,
/// subscription groups.
struct AppReceiptResponse: Sendable {
    /// Its `in_app` always has all purchases.
    let receipt: VerifiedReceipt
    /// The purchases and what is known of their subscriptions.
    let entitlements: Entitlements
    /// True if `latest_receipt_info` has only the latest of each subscription (`exclude-old-transactions`).
    var excludesOldTransactions = false
    /// The plans of `pending_renewal_info`; nil if only the receipt is known.
    var plans: [Renewal]?
    /// True if there are no other plans: an empty list then says that there are none.
    var hasAllPlans = false
    /// The `latest_receipt` of an earlier answer of Apple's to this receipt; nil for the receipt itself.
    let latestReceipt: String?
    let requestDate: Timestamp

    var body: [UInt8] {
        var form = VerifyReceiptForm(json: JSONWriter(reservingCapacity: expectedByteCount))
        form.object { form in
            form.json.member("status", 0)
            form.text("environment", receipt.environment.rawValue)
            form.json.key("receipt")
            form.receipt(receipt, requestDate, purchases)
            guard hasLatestReceipt else { return }
            let listed = excludesOldTransactions ? latestOfEach : latest
            form.transactions("latest_receipt_info", plans == nil ? listed : dated(listed))
            form.json.latestReceipt(latestReceipt, else: receipt.bytes)
            if let plans, hasAllPlans || !plans.isEmpty { form.plans("pending_renewal_info", plans) }
        }
        return form.json.bytes
    }

    private var latest: [Transaction] { entitlements.transactions.values }

    private var latestOfEach: [Transaction] {
        let ids = Set(entitlements.latestPeriods(at: requestDate).values.map(\.transactionID))
        return latest.filter { !$0.isSubscription || ids.contains($0.transactionID) }
    }

    /// True if Apple would include the latest receipt: for auto-renewable subscriptions, which alone have an expiry
    /// date.
    var hasLatestReceipt: Bool {
        receipt.purchases.contains { $0.expiresDate != nil } || latest.contains { $0.expiresDate != nil }
    }

    /// The purchases of `in_app`, from the receipt. Receipts do not contain the ownership, and Apple's answers do.
    /// Later refunds belong in `latest_receipt_info`; without that list they are included here.
    private var purchases: [Transaction] {
        let signed = receipt.purchases.map { Transaction($0) }
        guard plans != nil else { return signed }
        let known = Dictionary(latest.map { ($0.transactionID, $0) }) { first, _ in first }
        return signed.map { signed in
            var purchase = signed
            // Consumables are not shared; finished consumables are not in the list.
            if signed.isConsumable { purchase.ownership = .purchased }
            guard let known = known[signed.transactionID] else { return purchase }
            purchase.ownership = known.ownership
            if !hasLatestReceipt, purchase.cancellationDate == nil {
                (purchase.cancellationDate, purchase.cancellationReason) = (
                    known.cancellationDate, known.cancellationReason
                )
            }
            return purchase
        }
    }

    /// Returns transactions with the dates on which changes of product ended them. Apple's answer always has them; signed
    /// data contain the date for refunds, but only a flag for upgrades, and nothing if they were signed before.
    private func dated(_ transactions: [Transaction]) -> [Transaction] {
        let ends = entitlements.replacementDates
        return transactions.map { transaction in
            guard transaction.cancellationDate == nil, let end = ends[transaction.transactionID] else {
                return transaction
            }
            var dated = transaction
            (dated.cancellationDate, dated.cancellationReason, dated.isUpgraded) = (end, 0, true)
            return dated
        }
    }

    private var expectedByteCount: Int {
        let purchases = 1024 + (receipt.purchases.count + latest.count) * 1024
        guard hasLatestReceipt else { return purchases }
        return purchases + (latestReceipt?.utf8.count ?? Base64.encodedCount(of: receipt.bytes.count))
    }
}

/// Writes members as Apple does, or none for nil: flags and most numbers are texts, dates have three forms.
private struct VerifyReceiptForm: FieldVisitor {
    var json: JSONWriter

    mutating func object(_ members: (inout Self) -> Void) {
        json.open(UInt8(ascii: "{"))
        members(&self)
        json.close(UInt8(ascii: "}"))
    }

    mutating func receipt(_ receipt: VerifiedReceipt, _ now: Timestamp, _ purchases: [Transaction]) {
        object { form in
            form.text("receipt_type", receipt.receiptType)
            form.json.member("adam_id", receipt.adamID)
            form.json.member("app_item_id", receipt.adamID)
            form.text("bundle_id", receipt.bundleID)
            form.text("application_version", receipt.applicationVersion)
            form.json.member("download_id", receipt.downloadID)
            form.json.member("version_external_identifier", receipt.versionExternalIdentifier)
            form.date("receipt_creation_date", receipt.creationDate)
            form.precise("request_date", now)
            form.date("original_purchase_date", receipt.originalPurchaseDate)
            form.text("original_application_version", receipt.originalApplicationVersion)
            form.date("preorder_date", receipt.preorderDate)
            form.date("expiration_date", receipt.expirationDate)
            form.transactions("in_app", purchases)
        }
    }

    mutating func transactions(_ name: StaticString, _ transactions: some Sequence<Transaction>) {
        json.key(name)
        json.open(UInt8(ascii: "["))
        for var transaction in transactions {
            // Apple gives this flag to subscriptions only; signed transactions have it as an offer's type.
            if transaction.signedFields != nil, transaction.expiresDate == nil {
                transaction.isInIntroOfferPeriod = nil
            }
            object { form in transaction.visitFields(with: &form) }
        }
        json.close(UInt8(ascii: "]"))
    }

    mutating func plans(_ name: StaticString, _ plans: [Renewal]) {
        json.key(name)
        json.open(UInt8(ascii: "["))
        for plan in plans { object { $0.plan(plan) } }
        json.close(UInt8(ascii: "]"))
    }

    private mutating func plan(_ plan: Renewal) {
        text("auto_renew_product_id", plan.renewalProductID)
        text("product_id", plan.productID)
        text("original_transaction_id", plan.originalTransactionID)
        number("auto_renew_status", plan.willRenew)
        if let intent = plan.expirationIntent {
            text("expiration_intent", intent.code)
            number("is_in_billing_retry_period", plan.isInBillingRetry ?? false)
        }
        date("grace_period_expires_date", plan.gracePeriodExpiresDate)
        if plan.priceConsent != .givenOrNotNeeded {
            number("price_consent_status", plan.priceConsent.map { $0 == .given })
        }
        number("price_increase_status", plan.priceConsent.map { $0 != .pending })
        text("promotional_offer_id", plan.promotionalOfferID)
        text("offer_code_ref_name", plan.offerCodeName)
    }

    private mutating func number(_ name: StaticString, _ flag: Bool?) { text(name, flag.map { $0 ? 1 : 0 }) }

    mutating func text(_ name: StaticString, _ value: (some CustomStringConvertible)?) {
        json.member(name, value?.description)
    }

    /// Writes a date in whole seconds, like all dates except the request date.
    mutating func date(_ name: StaticString, _ value: Timestamp?) {
        precise(name, value?.inWholeSeconds)
    }

    private mutating func precise(_ name: StaticString, _ value: Timestamp?) {
        guard let date = value.map(AppleDate.init) else { return }
        text(name, date.gmt)
        json.member(name, suffix: "_ms", date.milliseconds)
        json.member(name, suffix: "_pst", date.pacific)
    }

    // MARK: - Fields of a transaction

    mutating func text(_ name: StaticString, _ value: inout String?) { text(name, value) }
    mutating func count(_ name: StaticString, _ value: inout Int64?) { text(name, value) }
    mutating func code(_ name: StaticString, _ value: inout Int64?) { text(name, value) }
    mutating func flag(_ name: StaticString, _ value: inout Bool?) { text(name, value) }
    mutating func date(_ name: StaticString, _ value: inout Timestamp?) { date(name, value) }

    /// Returns false: Apple's answer has no such fields.
    func visitedFields(_ extent: SignedExtent) -> SignedExtent { .none }

    /// Does nothing: Apple's answer has no such lists.
    func texts(_ name: StaticString, _ value: inout [String]?) {}
    func object(_ name: StaticString, _ value: inout [UInt8]?) {}

    /// Does nothing: this visitor only writes.
    func invalid(_ name: StaticString) {}
}

extension JSONWriter {
    /// Writes `latest_receipt`: the known receipt, else the receipt that was sent.
    mutating func latestReceipt(_ known: String?, else sent: [UInt8]) {
        key("latest_receipt")
        if let known {
            string(known)
        } else {
            string { Base64.append(encoding: sent, to: &$0) }
        }
    }
}

extension Timestamp {
    fileprivate var inWholeSeconds: Timestamp {
        let milliseconds = millisecondsSince1970 % 1000
        return Timestamp(
            millisecondsSince1970: millisecondsSince1970 - (milliseconds < 0 ? milliseconds + 1000 : milliseconds))
    }
}
