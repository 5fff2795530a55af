// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOHTTP1
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// Accounts that are exactly as recorded answers of verifyReceipt have them.
struct RecordedAnswerTests {
    private func recorded() throws -> RecordedStore { try RecordedStore(RecordedSample.answer) }

    // MARK: - Answers

    @Test func `verifyReceipt answers with every member of the recorded answer`() throws {
        let (sample, ours) = (try AppleAnswer(RecordedSample.answer), try recorded().answer())
        #expect(Set(ours.members.keys) == Set(sample.members.keys))
        for (name, text) in sample.comparable { #expect(ours.comparable[name] == text, "\(name)") }
    }

    @Test func `the latest receipt has each transaction once`() throws {
        let recorded = try recorded()
        let latest = try recorded.answer().latestReceipt(at: recorded.store.clock.now)
        #expect(latest.purchases.map(\.transactionID).sorted() == ["100", "101", "200", "300"])
        #expect(latest.bundleID == TestStore.app)
    }

    @Test func `old transactions are left out on request`() throws {
        let answer = try recorded().answer(excludesOld: true)
        #expect(answer.latest.compactMap { $0["transaction_id"] }.sorted() == ["101", "200", "300"])
        #expect(answer.renewals.count == 3 && answer.inApp.count == 3)
    }

    @Test func `no story changes the account`() throws {
        let store = try TestStore("stories: {default: renewed}")
        let receipt = try #require(try store.register(recordedAnswer: RecordedSample.answer).receipts.first)
        let answer = try store.answer(to: #"{"receipt-data":"\#(receipt)"}"#)
        #expect(answer.comparable == (try recorded().answer().comparable))
    }

    @Test func `other evidence does not change the account`() throws {
        let recorded = try recorded()
        let before = try recorded.answer().comparable
        var receipt = Samples.receipt()
        receipt.purchases[0].originalTransactionID = "100"
        try recorded.store.know(receipt)
        #expect(try recorded.answer().comparable == before)
    }

    @Test func `a later answer about the same transactions replaces the account`() throws {
        let recorded = try recorded()
        try recorded.store.register(
            recordedAnswer: Data(
                RecordedSample.json.replacing("com.example.app.yearly", with: "com.example.app.gold").utf8))
        #expect(recorded.store.store.customers.count == 1)
        let listed = try recorded.answer().latest.compactMap { $0["product_id"] }
        #expect(listed.contains("com.example.app.gold") && !listed.contains("com.example.app.yearly"))
    }

    @Test(arguments: ["latest_receipt_info", "latest_expired_receipt_info"])
    func `an answer to a transaction receipt keeps its form, its status and its milliseconds`(name: String) throws {
        let sample = try AppleAnswer(RecordedSample.ios6(name))
        let recorded = try RecordedStore(RecordedSample.ios6(name))
        #expect(try recorded.answer().comparable == sample.comparable)
        let history = try recorded.call("v2/history/1000000000000100")
        #expect(history.transactionIDs == ["1000000000000100", "1000000000000101"])
        let end = try #require(history.transactions.last?["expiresDate"] as? Int64)
        #expect(String(end) == (sample.members[name] as? [String: Any])?["expires_date"] as? String)
        #expect(end % 1000 == 197)
        #expect(try recorded.call("v1/subscriptions/1000000000000100").statuses.count == 1)
    }

    @Test func `a receipt from before the usual certificates is genuine`() throws {
        var contents = Samples.plainReceipt()
        contents.creationDate = UTCDate(2014, 9, 2)
        let body = Samples.body(Samples.pki.signAtCreation(contents))
        #expect(try TestStore().answer(to: body).status == 0)
        #expect(try TestStore().answer(to: Samples.body(contents)).status == 21003)
    }

    // MARK: - The Server API

    @Test func `the Server API has the same transactions`() throws {
        let (recorded, elements) = (try recorded(), try AppleAnswer(RecordedSample.answer).elements)
        let history = try recorded.call("v2/history/100")
        #expect(history.transactionIDs.sorted() == ["100", "101", "200", "300"])
        for claims in history.transactions {
            let element = try #require(elements[claims["transactionId"] as? String ?? ""])
            #expect(AgreementTests.fields(ofClaims: claims) == AppleAnswer.fieldsOfClaims(element))
        }
        #expect(try recorded.call("v2/history/300").transactionIDs.count == 4)
        #expect(try recorded.call("v2/history/400").errorCode == 4_040_010)
    }

    @Test func `of several products of a subscription, the newest one's renewal has the status`() throws {
        let (recorded, sample) = (try recorded(), try AppleAnswer(RecordedSample.answer))
        let statuses = try recorded.call("v1/subscriptions/300").statuses
        #expect(statuses.map(\.originalTransactionID) == ["100", "200"])
        #expect(statuses.map(\.status) == [1, 4])
        for (status, product) in zip(statuses, ["com.example.app.yearly", "com.example.app.news"]) {
            let renewal = try #require(sample.allRenewals.first { $0["product_id"] == product })
            #expect(
                AgreementTests.fields(ofRenewal: status.renewal)
                    == renewal.filter { !$0.key.hasSuffix("_pst") && !$0.key.hasSuffix("date") })
        }
    }

    @Test func `writes of the Server API are in both interfaces`() throws {
        let recorded = try recorded()
        let token = #"{"appAccountToken":"\#(WriteTests.uuid)"}"#
        #expect(try recorded.store.call("v1/transactions/100/appAccountToken", .PUT, token).status == 200)
        let request = #"{"extendByDays":10,"extendReasonCode":1,"requestIdentifier":"test"}"#
        #expect(try recorded.store.call("v1/subscriptions/extend/100", .PUT, request).status == 200)
        let newest = try #require(try recorded.answer().latest.first { $0["transaction_id"] == "101" })
        #expect(newest["app_account_token"] == WriteTests.uuid)
        let end = Samples.start.advanced(byDays: 344).millisecondsSince1970
        #expect(newest["expires_date_ms"] == String(end))
        let claims = try recorded.call("v1/transactions/101").claims(of: "signedTransactionInfo")
        #expect(claims["expiresDate"] as? Int64 == end)
    }

    // MARK: - Requests

    @Test func `the reply to the request has the receipts`() async throws {
        try await withApple { apple in
            let wire = Wire(apple.productionURL)
            let reply = try await wire.ask("PUT", "/accounts", #"{"answers":[\#(RecordedSample.json)]}"#)
            let members = try AppleAnswer(Data(reply.body.utf8)).members
            #expect(reply.status == 200 && members["registered"] as? Int == 1)
            let receipts = try #require(members["receipts"] as? [String])
            #expect(try apple.addAccounts(recordedAnswers: [Array(RecordedSample.json.utf8)]) == receipts)
            let answer = try await wire.verify(#"{"receipt-data":"\#(receipts[0])"}"#)
            let sample = try AppleAnswer(RecordedSample.answer)
            #expect(try AppleAnswer(Data(answer.body.utf8)).comparable == sample.comparable)
        }
    }

    @Test(arguments: [
        ("7", "'answers[0]' takes an object."), (#"{"receipt":{}}"#, "'answers[0].status' is missing."),
        (#"{"status":21003,"receipt":{}}"#, "'answers[0].status' takes 0 or 21006."),
        (#"{"status":0,"receipt":null}"#, "'answers[0].receipt' is missing."),
        (#"{"status":21006,"receipt":{}}"#, "'answers[0].status' takes 0 for an app receipt."),
        (#"{"status":0,"receipt":{}}"#, "'answers[0].environment' is missing."),
        (
            #"{"status":0,"environment":"Xcode","receipt":{}}"#,
            "'answers[0].environment' takes Production or Sandbox."
        ),
        (
            #"{"status":0,"environment":"Sandbox","receipt":{"bundle_id":7}}"#,
            "'answers[0].receipt.bundle_id' takes a text."
        ),
        (#"{"status":0,"receipt":{"bid":"a"}}"#, "'answers[0].receipt.product_id' is missing."),
    ])
    func `an answer that is none is explained`(answer: String, text: String) throws {
        let store = try TestStore()
        let error = #expect(throws: ControlError.self) { try store.register(recordedAnswer: Data(answer.utf8)) }
        #expect(error?.description == text)
    }

    @Test(arguments: [
        (
            #""quantity":"3""#, #""quantity":"x""#,
            "'answers[0].receipt.in_app[2].quantity' takes a whole number from 0 to 9223372036854775807."
        ),
        (#""latest_receipt":"#, #""latest":"#, "'answers[0].latest_receipt' is missing."),
        (
            #""receipt_creation_date_ms":"#, #""date":"#,
            "'answers[0].receipt.receipt_creation_date_ms' is missing."
        ),
        (
            #""auto_renew_status":"1""#, #""auto_renew_status":"2""#,
            "'answers[0].pending_renewal_info[1].auto_renew_status' takes a whole number from 0 to 1."
        ),
        (
            "FAMILY_SHARED", "SHARED",
            "'answers[0].latest_receipt_info[2].in_app_ownership_type' takes PURCHASED or FAMILY_SHARED."
        ),
        (
            #""environment":"Production""#, #""environment":"Sandbox""#,
            "'answers[0].environment' takes the environment of the receipt's type."
        ),
        (
            #""receipt_type":"Production""#, #""receipt_type":"Xcode""#,
            ControlError.notIssuable("answers[0]").description
        ),
    ])
    func `a wrong member is named`(member: String, replacement: String, text: String) throws {
        let store = try TestStore()
        let answer = RecordedSample.json.replacing(member, with: replacement)
        #expect(answer != RecordedSample.json)
        let error = #expect(throws: ControlError.self) { try store.register(recordedAnswer: Data(answer.utf8)) }
        #expect(error?.description == text)
    }

    @Test func `recorded answers count as evidence`() throws {
        var limits = SimulatorLimits()
        limits.maximumEvidence = 1
        let answer = Array(RecordedSample.json.utf8)
        #expect(throws: ControlError.tooMuchEvidence(maximum: 1)) {
            try AccountEvidence(recordedAnswers: [answer, answer], limits: limits)
        }
        #expect(throws: ControlError.wrongValue(of: "answers", needed: "a list")) {
            try AccountEvidence(Array(#"{"answers":{}}"#.utf8), limits: limits)
        }
    }
}

/// An answer with everything that Apple's can have: an upgrade in the middle of an offer, a purchase of the family in its
/// grace period, and an item.
private enum RecordedSample {
    static let answer = Data(json.utf8)

    static let json: String = {
        let members: [String: Any] = [
            "status": 0, "environment": "Production", "receipt": receipt, "latest_receipt": "AAAA",
            "latest_receipt_info": [monthly, yearly, news, item], "pending_renewal_info": renewals,
        ]
        let text = try? JSONSerialization.data(withJSONObject: members, options: .sortedKeys)
        return String(decoding: text ?? Data(), as: UTF8.self)
    }()

    private static var receipt: [String: Any] {
        var receipt: [String: Any] = [
            "receipt_type": "Production", "adam_id": 1_387_514_950, "app_item_id": 1_387_514_950,
            "bundle_id": TestStore.app, "application_version": "58", "download_id": 9_007_199_254_740_993,
            "version_external_identifier": 827_235_835, "original_application_version": "12",
            "in_app": [inApp(monthly), inApp(yearly), inApp(item)],
        ]
        for (name, day) in [
            ("receipt_creation_date", -20), ("request_date", 0), ("original_purchase_date", -900),
            ("preorder_date", -950),
        ] as [(String, Int64)] {
            receipt.merge(date(name, day)) { first, _ in first }
        }
        return receipt
    }

    /// Returns an element of `in_app`, which has no group.
    private static func inApp(_ element: [String: String]) -> [String: String] {
        element.filter { $0.key != "subscription_group_identifier" }
    }

    private static let monthly = element("100", of: "100", "com.example.app.monthly", on: -60, days: 30).merging(
        date("cancellation_date", -31).merging([
            "is_trial_period": "true", "promotional_offer_id": "winter", "is_upgraded": "true",
            "subscription_group_identifier": "900",
        ]) { $1 }
    ) { $1 }

    private static let yearly = element("101", of: "100", "com.example.app.yearly", on: -31, days: 365).merging([
        "offer_code_ref_name": "SUMMER", "subscription_group_identifier": "900",
        "app_account_token": "7e3fb20b-4cdb-47cc-936d-99d65f608138",
    ]) { $1 }

    private static let news = element("200", of: "200", "com.example.app.news", on: -40, days: 30).merging([
        "in_app_ownership_type": "FAMILY_SHARED", "subscription_group_identifier": "901",
    ]) { $1 }

    private static let item = element("300", of: "300", "com.example.app.gems", on: -25, days: nil).merging(
        date("cancellation_date", -24).merging(["quantity": "3", "cancellation_reason": "1"]) { $1 }
    ) { $1 }

    private static let renewals: [[String: String]] = [
        [
            "original_transaction_id": "100", "product_id": "com.example.app.monthly",
            "auto_renew_product_id": "com.example.app.monthly", "auto_renew_status": "0", "expiration_intent": "1",
            "is_in_billing_retry_period": "0",
        ],
        [
            "original_transaction_id": "100", "product_id": "com.example.app.yearly",
            "auto_renew_product_id": "com.example.app.gold", "auto_renew_status": "1", "price_consent_status": "1",
            "price_increase_status": "1", "offer_code_ref_name": "SUMMER",
        ],
        date("grace_period_expires_date", 6).merging([
            "original_transaction_id": "200", "product_id": "com.example.app.news",
            "auto_renew_product_id": "com.example.app.news", "auto_renew_status": "1", "expiration_intent": "2",
            "is_in_billing_retry_period": "1", "promotional_offer_id": "return",
        ]) { $1 },
    ]

    /// Returns an answer about two periods of the sandbox, whose dates have milliseconds. One about an expired subscription
    /// has a renewal.
    static func ios6(_ name: String) -> Data {
        let isOver = name == "latest_expired_receipt_info"
        var members: [String: Any] = [
            "status": isOver ? 21006 : 0, "receipt": purchase("1000000000000100", on: -3000),
            name: purchase("1000000000000101", on: -2970),
        ]
        if isOver {
            members.merge(["auto_renew_product_id": "com.example.app.monthly", "auto_renew_status": 0]) { $1 }
            members.merge(["expiration_intent": "1", "is_in_billing_retry_period": "0"]) { $1 }
        } else {
            members["latest_receipt"] = "AAAA"
        }
        return (try? JSONSerialization.data(withJSONObject: members, options: .sortedKeys)) ?? Data()
    }

    /// Returns the fields of a transaction receipt.
    private static func purchase(_ id: String, on day: Int64) -> [String: String] {
        let end = Samples.start.advanced(byDays: day + 30).millisecondsSince1970 + 197
        let expires = UTCDate.exact(Timestamp(millisecondsSince1970: end))
        let fields = [
            "bid": TestStore.app, "bvrs": "1.0", "item_id": "570504929", "product_id": "com.example.app.monthly",
            "quantity": "1", "transaction_id": id, "original_transaction_id": "1000000000000100",
            "web_order_line_item_id": "7" + id, "unique_identifier": "device " + id,
            "expires_date": expires.millisecondsText, "expires_date_formatted": expires.gmtText,
            "expires_date_formatted_pst": expires.pacificText,
        ]
        return fields.merging(date("purchase_date", day)) { $1 }.merging(date("original_purchase_date", -3000)) { $1 }
    }

    private static func element(
        _ id: String, of original: String, _ product: String, on day: Int64, days: Int64?
    ) -> [String: String] {
        var element = [
            "quantity": "1", "product_id": product, "transaction_id": id, "original_transaction_id": original,
            "is_trial_period": "false", "is_in_intro_offer_period": "false", "in_app_ownership_type": "PURCHASED",
        ]
        element.merge(date("purchase_date", day)) { $1 }
        element.merge(date("original_purchase_date", id == original ? day : -60)) { $1 }
        if let days {
            element.merge(date("expires_date", day + days)) { $1 }
            element["web_order_line_item_id"] = "70" + id
        }
        return element
    }

    /// Returns a date in its three forms.
    private static func date(_ name: String, _ day: Int64) -> [String: String] {
        let date = Samples.start.advanced(byDays: day)
        return [name: date.gmtText, name + "_ms": date.millisecondsText, name + "_pst": date.pacificText]
    }
}
