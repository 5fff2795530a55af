// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import JSON
internal import Receipts

/// The JSON that `verifyReceipt` would return for a receipt verified here, with Apple's names, types, dates and order.
///
/// It contains what is signed. What only Apple knows is left out: renewals and refunds after the receipt was made,
/// `pending_renewal_info`, ownership, subscription groups.
struct LocalVerifyReceiptResponse: Sendable {
    /// The receipt. Its `in_app` always has all purchases.
    let receipt: VerifiedReceipt
    /// The transactions of `latest_receipt_info`; with `exclude-old-transactions`, only the latest of each subscription.
    let latest: [Transaction]
    /// The `latest_receipt` of an earlier answer of Apple's to this receipt; nil for the receipt itself.
    let latestReceipt: String?
    let requestDate: Timestamp

    var body: [UInt8] {
        var form = VerifyReceiptForm(json: JSONWriter(reservingCapacity: expectedByteCount))
        form.object { form in
            form.json.member("status", 0)
            form.text("environment", receipt.environment.rawValue)
            form.json.key("receipt")
            form.receipt(receipt, requestDate)
            guard hasSubscriptions else { return }
            form.transactions("latest_receipt_info", latest)
            form.json.key("latest_receipt")
            if let latestReceipt {
                form.json.string(latestReceipt)
            } else {
                form.json.string { Base64.append(encoding: receipt.bytes, to: &$0) }
            }
        }
        return form.json.bytes
    }

    /// True if Apple would include the latest receipt: for auto-renewable subscriptions, which alone have an expiry
    /// date.
    private var hasSubscriptions: Bool { receipt.purchases.contains { $0.expiresDate != nil } }

    private var expectedByteCount: Int {
        let purchases = 1024 + (receipt.purchases.count + latest.count) * 1024
        guard hasSubscriptions else { return purchases }
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

    mutating func receipt(_ receipt: VerifiedReceipt, _ now: Timestamp) {
        object { form in
            form.text("receipt_type", receipt.receiptType)
            form.json.member("adam_id", receipt.adamID)
            form.json.member("app_item_id", receipt.adamID)
            form.text("bundle_id", receipt.bundleID)
            form.text("application_version", receipt.applicationVersion)
            form.json.member("download_id", receipt.downloadID)
            form.json.member("version_external_identifier", receipt.versionExternalIdentifier)
            form.date("receipt_creation_date", receipt.creationDate)
            form.date("request_date", now)
            form.date("original_purchase_date", receipt.originalPurchaseDate)
            form.text("original_application_version", receipt.originalApplicationVersion)
            form.date("preorder_date", receipt.preorderDate)
            form.date("expiration_date", receipt.expirationDate)
            form.transactions("in_app", receipt.purchases.lazy.map { Transaction($0) })
        }
    }

    mutating func transactions(_ name: String, _ transactions: some Sequence<Transaction>) {
        json.key(name)
        json.open(UInt8(ascii: "["))
        for var transaction in transactions {
            object { form in transaction.visitFields(with: &form) }
        }
        json.close(UInt8(ascii: "]"))
    }

    mutating func text(_ name: String, _ value: (some CustomStringConvertible)?) {
        json.member(name, value?.description)
    }

    mutating func date(_ name: String, _ value: Timestamp?) {
        guard let date = value.map(AppleDate.init) else { return }
        text(name, date.gmt)
        text(name + "_ms", date.milliseconds)
        text(name + "_pst", date.pacific)
    }

    // MARK: - Fields of a transaction

    mutating func text(_ name: String, _ value: inout String?) { text(name, value) }
    mutating func count(_ name: String, _ value: inout Int64?) { text(name, value) }
    mutating func code(_ name: String, _ value: inout Int64?) { text(name, value) }
    mutating func flag(_ name: String, _ value: inout Bool?) { text(name, value) }
    mutating func date(_ name: String, _ value: inout Timestamp?) { date(name, value) }

    /// Does nothing: Apple's answer has no such lists.
    func texts(_ name: String, _ value: inout [String]?) {}

    /// Does nothing: this visitor only writes.
    func invalid(_ name: String) {}
}
