// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealCorpus
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// Answers to transaction receipts, in the style of iOS 6.
struct TransactionReceiptAnswerTests {
    private func answer(
        _ scenario: String = "", to receipt: TransactionReceiptContents = Samples.transactionReceipt()
    ) throws -> AppleAnswer {
        try TestStore(scenario).answer(to: Samples.body(receipt))
    }

    private func text(_ answer: AppleAnswer, _ object: String, _ name: String) -> String? {
        (answer.members[object] as? [String: Any])?[name] as? String
    }

    // MARK: - Subscriptions

    @Test func `a running subscription is an object, with a receipt of the same kind`() throws {
        let answer = try answer()
        #expect(
            Set(answer.members.keys) == [
                "status", "receipt", "latest_receipt_info", "latest_receipt", "auto_renew_product_id",
                "auto_renew_status",
            ])
        #expect(answer.status == 0 && text(answer, "receipt", "bid") == "com.example.app")
        #expect(text(answer, "latest_receipt_info", "transaction_id") == "1001")
        let latest = try answer.latestTransactionReceipt(at: ManualClock().now)
        #expect(latest.transactionID == "1001" && latest.bundleID == "com.example.app")
    }

    @Test func `an expired subscription has status 21006 and no newer receipt`() throws {
        let answer = try answer(to: Samples.transactionReceipt(endingAfterDays: -10))
        #expect(
            Set(answer.members.keys) == [
                "status", "receipt", "latest_expired_receipt_info", "auto_renew_product_id", "auto_renew_status",
                "expiration_intent", "is_in_billing_retry_period",
            ])
        #expect(answer.status == 21006 && answer.members["auto_renew_status"] as? Int == 0)
    }

    @Test func `a renewed subscription has a newer period, with its own receipt`() throws {
        let answer = try answer(
            "stories: {default: renewed}", to: Samples.transactionReceipt(endingAfterDays: -10))
        #expect(answer.status == 0 && text(answer, "receipt", "transaction_id") == "1001")
        let newest = try #require(text(answer, "latest_receipt_info", "transaction_id"))
        let latest = try answer.latestTransactionReceipt(at: ManualClock().now)
        #expect(newest != "1001" && latest.transactionID == newest && latest.originalTransactionID == "1000")
        #expect(
            text(answer, "latest_receipt_info", "expires_date")
                == latest.expiresDate.map { String($0.millisecondsSince1970) })
        #expect(text(answer, "latest_receipt_info", "item_id") == text(answer, "receipt", "item_id"))
    }

    @Test func `a refunded subscription is over`() throws {
        let answer = try answer("stories: {default: refunded}")
        #expect(answer.status == 21006 && answer.members["latest_receipt"] == nil)
        for object in ["receipt", "latest_expired_receipt_info"] {
            #expect(text(answer, object, "cancellation_date") != nil)
            #expect(text(answer, object, "cancellation_reason") == "0")
        }
    }

    @Test func `another product is answered with the receipt alone`() throws {
        var item = Samples.transactionReceipt()
        item.expiresDate = nil
        let known = try answer(to: item)
        #expect(Set(known.members.keys) == ["status", "receipt"] && known.status == 0)
        #expect(text(known, "receipt", "cancellation_date") == nil)
        let refunded = try answer("stories: {default: refunded}", to: item)
        #expect(text(refunded, "receipt", "cancellation_date") != nil)
    }

    @Test(arguments: [("right", 0), ("wrong", 21004)])
    func `subscriptions need the shared secret`(secret: String, status: Int) throws {
        let body = Samples.body(Samples.transactionReceipt()).dropLast() + #","password":"right"}"#
        #expect(try TestStore("shared_secret: \(secret)").answer(to: String(body)).status == status)
    }

    // MARK: - Environments and refusals

    @Test(arguments: [
        (Endpoint.production, "Sandbox", 21007), (.sandbox, "Production", 21008), (.production, "Production", 0),
        (.sandbox, "Sandbox", 0),
    ])
    func `each endpoint answers receipts of its own environment only`(
        endpoint: Endpoint, environment: String, status: Int
    ) throws {
        let body = Samples.body(Samples.transactionReceipt(environment: environment))
        #expect(try TestStore().answer(to: body, at: endpoint).status == status)
    }

    @Test func `a receipt that cannot be read has another status than a forged one`() throws {
        let forge = TransactionReceiptForge(pki: Samples.pki)
        for (fault, status) in [("signature-bit-flipped", 21003), ("signature-cut-short", 21002)] {
            let receipt = forge.evidence(with: try #require(TransactionReceiptFault(named: fault), "\(fault)"))
            #expect(try TestStore().answer(to: Samples.body(receipt)).status == status, "\(fault)")
        }
        let stranger = Samples.body(Samples.transactionReceipt(), signedBy: Samples.stranger)
        #expect(try TestStore().answer(to: stranger).status == 21003)
        #expect(try TestStore().answer(to: Samples.body(Array("{".utf8))).status == 21002)
    }

    // MARK: - Deviations

    @Test func `a tampered answer is not the signed one`() throws {
        let later = try answer("faults: [{fault: {tampered: expires_2099}}]")
        #expect(text(later, "latest_receipt_info", "expires_date_formatted")?.hasPrefix("2099-") == true)
        let signed = try later.latestTransactionReceipt(at: ManualClock().now)
        #expect(signed.expiresDate?.description == "2026-07-11T12:00:00Z")
        let other = try answer("faults: [{fault: {tampered: other_bundle_id}}]")
        #expect(text(other, "receipt", "bid") == "com.example.other")
    }

    @Test func `a latest receipt can be another's, an earlier one, a stranger's, or missing`() throws {
        func answer(_ replacement: String) throws -> AppleAnswer {
            let scenario = "stories: {default: renewed}\nfaults: [{fault: {latest_receipt: \(replacement)}}]"
            return try self.answer(scenario, to: Samples.transactionReceipt(endingAfterDays: -10))
        }
        let now = ManualClock().now
        #expect(try answer("of_other_app").latestTransactionReceipt(at: now).bundleID == "com.example.other")
        #expect(try answer("older").latestTransactionReceipt(at: now).transactionID == "1001")
        let stranger = try answer("signed_by_stranger")
        #expect(throws: ReceiptError.self) { try stranger.latestTransactionReceipt(at: now) }
        #expect(try answer("missing").members["latest_receipt"] == nil)
    }

    // MARK: - Apple's own

    @Test(.enabled(if: RealCorpus.folder(besideReceipts: "responses") != nil, "no real answers"))
    func `the names are those of Apple's answers`() throws {
        let folder = try #require(RealCorpus.folder(besideReceipts: "responses"))
        let answers = try RealCorpus.files(in: folder).map { try AppleAnswer(Data(contentsOf: $0)) }
        let expired = answers.filter { $0.status == 21006 && $0.receipt["bid"] != nil }
        let ours = try answer(to: Samples.transactionReceipt(endingAfterDays: -10))
        for apples in expired {
            #expect(Set(ours.members.keys) == Set(apples.members.keys))
            #expect(Set(ours.receipt.keys) == Set(apples.receipt.keys))
        }
        #expect(!expired.isEmpty)
    }
}
