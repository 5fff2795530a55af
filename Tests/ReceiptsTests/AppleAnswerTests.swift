// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealCorpus
import Receipts
import Testing

/// Compares the fields read from a receipt with Apple's own answer to it.
@Suite(.enabled(if: RealCorpus.answers != nil, Comment(rawValue: RealCorpus.answersMissing)))
struct AppleAnswerTests {
    @Test func `there are answers with a receipt in them`() throws {
        #expect(try RealCorpus.pairs().contains { $0.receipt != nil })
    }

    @Test(arguments: try RealCorpus.pairs().filter { $0.receipt != nil })
    func `what is signed and what Apple answers agree field by field`(_ pair: RealCorpus.Pair) throws {
        let receipt = try ReceiptVerifier().verify(Base64.decode(pair.receiptData), at: RealReceipts.now)
        let answer = try #require(pair.receipt)
        // Apple adds the time of the request.
        #expect(Fields(receipt).differences(from: answer, ignoring: ["in_app", "request_date_ms"]) == [])
        #expect(receipt.environment.rawValue == pair.environment)
    }

    @Test(arguments: try RealCorpus.pairs().filter { $0.receipt != nil })
    func `purchases agree field by field, in Apple's order`(_ pair: RealCorpus.Pair) throws {
        let receipt = try ReceiptVerifier().verify(Base64.decode(pair.receiptData), at: RealReceipts.now)
        let answers = try #require(pair.receipt?["in_app"] as? [[String: Any]])
        #expect(receipt.purchases.map(\.transactionID) == answers.map { $0["transaction_id"] as? String })
        for (purchase, answer) in zip(receipt.purchases, answers) {
            #expect(Fields(purchase).differences(from: answer, ignoring: []) == [])
        }
    }

    @Test(arguments: try RealCorpus.pairs().filter { $0.status == 21002 })
    func `what Apple calls malformed is no receipt here either`(_ pair: RealCorpus.Pair) {
        #expect(throws: (any Error).self) {
            try ReceiptVerifier().verify(Base64.decode(pair.receiptData), at: RealReceipts.now)
        }
    }

    @Test(arguments: try RealCorpus.pairs().filter { $0.status == 21007 })
    func `what Apple calls a sandbox receipt is one here`(_ pair: RealCorpus.Pair) throws {
        let receipt = try ReceiptVerifier().verify(Base64.decode(pair.receiptData), at: RealReceipts.now)
        #expect(receipt.environment == .sandbox)
    }
}

/// Fields by Apple's names, as text, without absent ones.
private struct Fields {
    private var values: [String: String] = [:]

    init(_ receipt: VerifiedReceipt) {
        values["receipt_type"] = receipt.receiptType
        values["bundle_id"] = receipt.bundleID
        values["application_version"] = receipt.applicationVersion
        values["original_application_version"] = receipt.originalApplicationVersion
        values["adam_id"] = receipt.adamID.map { String($0) }
        values["app_item_id"] = values["adam_id"]
        values["download_id"] = receipt.downloadID.map { String($0) }
        values["version_external_identifier"] = receipt.versionExternalIdentifier.map { String($0) }
        values["receipt_creation_date_ms"] = String(receipt.creationDate.millisecondsSince1970)
        set("original_purchase_date_ms", receipt.originalPurchaseDate)
        set("expiration_date_ms", receipt.expirationDate)
        set("preorder_date_ms", receipt.preorderDate)
    }

    init(_ purchase: InAppPurchase) {
        values["quantity"] = purchase.quantity.map { String($0) }
        values["product_id"] = purchase.productID
        values["transaction_id"] = purchase.transactionID
        values["original_transaction_id"] = purchase.originalTransactionID
        values["web_order_line_item_id"] = purchase.webOrderLineItemID.map { String($0) }
        values["promotional_offer_id"] = purchase.promotionalOfferID
        values["is_trial_period"] = purchase.isTrialPeriod.map { String($0) }
        values["is_in_intro_offer_period"] = purchase.isInIntroOfferPeriod.map { String($0) }
        values["cancellation_reason"] = purchase.cancellationReason.map { String($0) }
        set("purchase_date_ms", purchase.purchaseDate)
        set("original_purchase_date_ms", purchase.originalPurchaseDate)
        set("expires_date_ms", purchase.expiresDate)
        set("cancellation_date_ms", purchase.cancellationDate)
    }

    private mutating func set(_ name: String, _ date: Timestamp?) {
        values[name] = date.map { String($0.millisecondsSince1970) }
    }

    /// Returns the names of fields that differ or are on one side only. Of the three forms of a date `_ms` is compared.
    func differences(from answer: [String: Any], ignoring ignored: Set<String>) -> [String] {
        let expected = answer.filter { name, _ in
            !ignored.contains(name) && !name.hasSuffix("_pst") && answer[name + "_ms"] == nil
        }.mapValues { "\($0)" }
        return Set(expected.keys).union(values.keys).filter { expected[$0] != values[$0] }.sorted()
    }
}

extension RealCorpus.Pair {
    private var response: [String: Any] { (try? JSONSerialization.jsonObject(with: answer)) as? [String: Any] ?? [:] }
    fileprivate var status: Int? { response["status"] as? Int }
    fileprivate var environment: String? { response["environment"] as? String }
    /// Apple's `receipt` object; nil if the answer has none.
    fileprivate var receipt: [String: Any]? { response["receipt"] as? [String: Any] }
}
