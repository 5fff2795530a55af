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
    private let purchases: [InAppPurchase]
    private let requestDate: Timestamp

    /// - Parameters:
    ///   - receipt: what is answered about.
    ///   - purchases: those to show, in the receipt's order; with `exclude-old-transactions`, only the latest
    ///     transaction of each subscription.
    ///   - now: becomes `request_date`.
    package init(_ receipt: VerifiedReceipt, showing purchases: some Sequence<InAppPurchase>, at now: Timestamp) {
        (self.receipt, self.purchases, requestDate) = (receipt, Array(purchases), now)
    }

    /// The body.
    package var body: [UInt8] {
        var json = JSONWriter(reservingCapacity: 1024 + purchases.count * 2048)
        json.object { json in
            json.member("status", .number(JSONNumber(0)))
            json.member("environment", .string(receipt.environment.rawValue))
            json.key("receipt")
            json.receipt(receipt, purchases, requestDate)
            // Apple gives it for receipts with auto-renewable subscriptions, which alone have an expiry date.
            if purchases.contains(where: { $0.expiresDate != nil }) {
                json.key("latest_receipt_info")
                json.purchases(purchases)
            }
        }
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func receipt(_ receipt: VerifiedReceipt, _ purchases: [InAppPurchase], _ now: Timestamp) {
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
            json.purchases(purchases)
        }
    }

    fileprivate mutating func purchases(_ purchases: [InAppPurchase]) {
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
