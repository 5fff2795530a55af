// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
package import Receipts

/// The JSON that `verifyReceipt` would answer for a receipt that was verified here: with Apple's names, types, dates and
/// order, so that what reads Apple's answers reads these.
///
/// It says what is signed. What only Apple knows is left out: renewals and refunds after the receipt was made,
/// `pending_renewal_info`, ownership, subscription groups.
package struct LocalVerifyReceiptResponse: Sendable {
    private let receipt: VerifiedReceipt
    private let latest: [InAppPurchase]
    private let latestReceipt: String?
    private let requestDate: Timestamp

    /// - Parameters:
    ///   - receipt: what is answered about.
    ///   - latest: the purchases of `latest_receipt_info`, in the receipt's order; with `exclude-old-transactions`, only
    ///     the latest transaction of each subscription. `receipt.in_app` always has all purchases.
    ///   - latestReceipt: the `latest_receipt` of an earlier answer of Apple's to this receipt; nil for the receipt itself.
    ///   - now: becomes `request_date`.
    package init(
        _ receipt: VerifiedReceipt, showing latest: some Sequence<InAppPurchase>, latestReceipt: String? = nil,
        at now: Timestamp
    ) {
        self.receipt = receipt
        self.latest = Array(latest)
        self.latestReceipt = latestReceipt
        requestDate = now
    }

    /// The body.
    package var body: [UInt8] {
        var json = JSONWriter(reservingCapacity: expectedByteCount)
        json.object { json in
            json.member("status", .number(JSONNumber(0)))
            json.member("environment", .string(receipt.environment.rawValue))
            json.key("receipt")
            json.receipt(receipt, requestDate)
            guard hasSubscriptions else { return }
            json.key("latest_receipt_info")
            json.purchases(latest)
            json.key("latest_receipt")
            if let latestReceipt { json.string(latestReceipt) } else { json.base64(receipt.bytes) }
        }
        return json.bytes
    }

    /// Apple tells of the latest receipt where there are auto-renewable subscriptions, which alone have an expiry date.
    private var hasSubscriptions: Bool { receipt.purchases.contains { $0.expiresDate != nil } }

    private var expectedByteCount: Int {
        let purchases = 1024 + (receipt.purchases.count + latest.count) * 1024
        guard hasSubscriptions else { return purchases }
        return purchases + (latestReceipt?.utf8.count ?? Base64.encodedCount(of: receipt.bytes.count))
    }
}

extension JSONWriter {
    fileprivate mutating func receipt(_ receipt: VerifiedReceipt, _ now: Timestamp) {
        object { json in
            json.text("receipt_type", receipt.receiptType)
            json.number("adam_id", receipt.adamID)
            json.number("app_item_id", receipt.adamID)
            json.text("bundle_id", receipt.bundleID)
            json.text("application_version", receipt.applicationVersion)
            json.number("download_id", receipt.downloadID)
            json.number("version_external_identifier", receipt.versionExternalIdentifier)
            json.date("receipt_creation_date", receipt.creationDate)
            json.date("request_date", now)
            json.date("original_purchase_date", receipt.originalPurchaseDate)
            json.text("original_application_version", receipt.originalApplicationVersion)
            json.date("preorder_date", receipt.preorderDate)
            json.date("expiration_date", receipt.expirationDate)
            json.key("in_app")
            json.purchases(receipt.purchases)
        }
    }

    fileprivate mutating func base64(_ bytes: [UInt8]) {
        string { Base64.append(encoding: bytes, to: &$0) }
    }

    fileprivate mutating func purchases(_ purchases: some Sequence<InAppPurchase>) {
        array { json in
            for purchase in purchases { json.purchase(purchase) }
        }
    }

    private mutating func purchase(_ purchase: InAppPurchase) {
        object { json in
            json.text("quantity", purchase.quantity)
            json.text("product_id", purchase.productID)
            json.text("transaction_id", purchase.transactionID)
            json.text("original_transaction_id", purchase.originalTransactionID)
            json.date("purchase_date", purchase.purchaseDate)
            json.date("original_purchase_date", purchase.originalPurchaseDate)
            json.date("expires_date", purchase.expiresDate)
            json.date("cancellation_date", purchase.cancellationDate)
            json.text("cancellation_reason", purchase.cancellationReason)
            json.text("web_order_line_item_id", purchase.webOrderLineItemID)
            json.text("is_trial_period", purchase.isTrialPeriod)
            json.text("is_in_intro_offer_period", purchase.isInIntroOfferPeriod)
            json.text("promotional_offer_id", purchase.promotionalOfferID)
        }
    }
}

// MARK: - Members as Apple writes them, or none

extension JSONWriter {
    /// Texts, and the numbers and flags that Apple writes as texts.
    private mutating func text(_ name: String, _ value: (some CustomStringConvertible)?) {
        guard let value else { return }
        key(name)
        string(value.description)
    }

    /// The few numbers that are numbers.
    private mutating func number(_ name: String, _ value: Int64?) {
        guard let value else { return }
        key(name)
        integer(value)
    }

    /// The three forms of a date.
    private mutating func date(_ name: String, _ value: Timestamp?) {
        guard let date = value.map(AppleDate.init) else { return }
        text(name, date.gmt)
        text(name + "_ms", date.milliseconds)
        text(name + "_pst", date.pacific)
    }
}
