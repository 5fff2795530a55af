// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// The answers of a healthy server.
struct AnswerTests {
    @Test func `a genuine receipt is answered with everything Apple knows`() throws {
        let answer = try TestStore().answer(to: Samples.receipt())
        #expect(
            Set(answer.members.keys) == [
                "status", "environment", "receipt", "latest_receipt", "latest_receipt_info", "pending_renewal_info",
            ])
        #expect(answer.status == 0 && answer.environment == "Production")
        #expect(answer.latest.count == 3 && answer.renewals.count == 1)
        #expect(answer.receipt["adam_id"] as? Int64 == 9_007_199_254_740_993)
        #expect(answer.inApp.map { $0["transaction_id"] } == ["2000", "1001", "1000"])
    }

    @Test func `the receipt's purchases have their ownership, which receipts do not name`() throws {
        for (story, ownership) in [("as_in_receipt", "PURCHASED"), ("family_shared", "FAMILY_SHARED")] {
            let answer = try TestStore("stories: {default: \(story)}").answer(to: Samples.receipt())
            #expect(answer.inApp.count == 3 && answer.inApp.allSatisfy { $0["in_app_ownership_type"] == ownership })
        }
    }

    @Test func `a receipt without subscriptions is answered with the receipt alone`() throws {
        let answer = try TestStore().answer(to: Samples.plainReceipt())
        #expect(Set(answer.members.keys) == ["status", "environment", "receipt"])
    }

    @Test func `all values of a purchase are texts`() throws {
        let answer = try TestStore().answer(to: Samples.receipt())
        #expect(answer.receipt["in_app"] is [[String: String]])
        for name in ["latest_receipt_info", "pending_renewal_info"] {
            #expect(answer.members[name] is [[String: String]], "\(name)")
        }
    }

    @Test func `dates have three spellings, with daylight-saving time`() throws {
        let receipt = try TestStore().answer(to: Samples.receipt()).receipt
        #expect(receipt["request_date"] as? String == "2026-07-01 12:00:00 Etc/GMT")
        #expect(receipt["request_date_ms"] as? String == "1782907200000")
        #expect(receipt["request_date_pst"] as? String == "2026-07-01 05:00:00 America/Los_Angeles")
        #expect(receipt["original_purchase_date_pst"] as? String == "2013-08-01 00:00:00 America/Los_Angeles")
    }

    @Test(arguments: [
        UTCDate(2026, 3, 8, 9, 59, 59), UTCDate(2026, 3, 8, 10), UTCDate(2026, 11, 1, 8, 59, 59),
        UTCDate(2026, 11, 1, 9),
        UTCDate(2005, 4, 3, 9, 59, 59), UTCDate(2005, 4, 3, 10), UTCDate(2005, 10, 30, 8, 59, 59),
        UTCDate(2005, 10, 30, 9),
        UTCDate(2020, 2, 29, 7), UTCDate(2025, 1, 1), UTCDate(2015, 6, 30, 23),
    ])
    func `the clock in Los Angeles agrees with the system's time zone data`(date: UTCDate) {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "America/Los_Angeles")
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        let expected = formatter.string(from: Date(timeIntervalSince1970: Double(date.secondsSince1970)))
        #expect(date.pacificText == expected + " America/Los_Angeles")
    }

    @Test(arguments: [
        (Endpoint.production, "ProductionSandbox", 21007), (.sandbox, "Production", 21008),
        (.production, "Production", 0), (.sandbox, "ProductionSandbox", 0), (.sandbox, "ProductionVPPSandbox", 0),
        (.production, "ProductionVPP", 0),
    ])
    func `each endpoint answers receipts of its own environment only`(
        endpoint: Endpoint, type: String, status: Int
    ) throws {
        let answer = try TestStore().answer(to: Samples.body(Samples.receipt(type: type)), at: endpoint)
        #expect(answer.status == status)
        #expect(answer.members.count == (status == 0 ? 6 : 1))
    }

    @Test(arguments: [
        ("", 21002), ("{", 21002), ("[]", 21002), ("{}", 21002), (#"{"receipt-data":7}"#, 21002),
        (#"{"receipt-data":"%%%"}"#, 21002), (#"{"receipt-data":"QUJD"}"#, 21002),
        (Samples.body(Samples.receipt(), signedBy: Samples.stranger), 21003),
    ])
    func `anything but a genuine receipt is refused`(body: String, status: Int) throws {
        #expect(try TestStore().answer(to: body).status == status)
    }

    @Test func `any method but POST is refused`() throws {
        #expect(try TestStore().answer(to: "", isPost: false).status == 21000)
    }

    @Test(arguments: [("right", 0), ("wrong", 21004), (nil, 21004)] as [(String?, Int)])
    func `subscriptions need the shared secret`(password: String?, status: Int) throws {
        let store = try TestStore("shared_secret: right")
        #expect(try store.answer(to: Samples.body(Samples.receipt(), password: password)).status == status)
        #expect(try store.answer(to: Samples.body(Samples.plainReceipt(), password: password)).status == 0)
    }

    @Test func `old transactions are left out on request`() throws {
        let answer = try TestStore().answer(to: Samples.receipt(), excludesOld: true)
        #expect(Set(answer.latest.map { $0["transaction_id"] }) == ["1001", "2000"])
        #expect(answer.inApp.count == 3)
    }

    @Test func `the latest receipt is issued and signed at the request`() throws {
        let store = try TestStore()
        let first = try store.answer(to: Samples.receipt())
        store.clock.advance(bySeconds: 1)
        let second = try store.answer(to: Samples.receipt())
        #expect(try first.latestReceipt(at: store.clock.now).creationDate.description == "2026-07-01T12:00:00Z")
        #expect(try second.latestReceipt(at: store.clock.now).creationDate.description == "2026-07-01T12:00:01Z")
    }

    @Test func `the latest receipt is kept for as long as the scenario says`() throws {
        let store = try TestStore("reissue_seconds: 3600")
        let first = try store.answer(to: Samples.receipt())
        store.clock.advance(bySeconds: 3599.5)
        let second = try store.answer(to: Samples.receipt())
        #expect(first.members["latest_receipt"] as? String == second.members["latest_receipt"] as? String)
        #expect(second.receipt["request_date_ms"] as? String == "1782910799500")
    }

    @Test func `the latest receipt has the same transactions as the list`() throws {
        let store = try TestStore("stories: {default: renewed}")
        let answer = try store.answer(to: Samples.receipt(endingAfterDays: -45))
        let receipt = try answer.latestReceipt(at: store.clock.now)
        #expect(Set(receipt.purchases.map(\.transactionID)) == Set(answer.latest.compactMap { $0["transaction_id"] }))
        #expect(receipt.bundleID == "com.example.app" && receipt.adamID == 9_007_199_254_740_993)
    }
}
