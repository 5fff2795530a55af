// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// Apple's knowledge beyond the receipt.
struct StoryTests {
    private static let start = Samples.start.secondsSince1970

    /// Returns the answer to a subscription that ends this many days after the start.
    private func answer(_ story: String, endingAfterDays days: Int64) throws -> AppleAnswer {
        try TestStore("stories: {default: \(story)}").answer(to: Samples.receipt(endingAfterDays: days))
    }

    /// Returns the days from the start to a date of an element.
    private func days(_ element: [String: String], _ name: String) -> Int64? {
        element[name + "_ms"].flatMap { Int64($0) }.map { ($0 / 1000 - Self.start) / 86_400 }
    }

    private func renewal(_ answer: AppleAnswer) throws -> [String: String] { try #require(answer.renewals.first) }

    @Test func `as in the receipt: a running one continues`() throws {
        let answer = try answer("as_in_receipt", endingAfterDays: 10)
        #expect(days(answer.newest, "expires_date") == 10 && answer.latest.count == 3)
        #expect(
            try renewal(answer) == [
                "auto_renew_product_id": "com.example.app.monthly", "product_id": "com.example.app.monthly",
                "original_transaction_id": "1000", "auto_renew_status": "1",
            ])
    }

    private static let ended = ["is_in_billing_retry_period": "0", "auto_renew_status": "0"]
    private static let collected = [
        "is_in_billing_retry_period": "1", "auto_renew_status": "1", "expiration_intent": "2",
    ]

    /// The story, the end of the receipt's period and of the newest period, and what the renewal says beside its products.
    @Test(
        arguments: [
            ("as_in_receipt", -3, -3, ended.merging(["expiration_intent": "1"]) { $1 }),
            ("will_not_renew", -3, 27, ["auto_renew_status": "0"]), ("in_billing_retry", -50, -20, collected),
            ("in_grace_period", 10, 10, ["auto_renew_status": "1"]),
            ("in_billing_retry", 10, 10, ["auto_renew_status": "1"]), ("switched", 10, 10, ["auto_renew_status": "1"]),
            ("{expired: 3}", 10, 10, ["auto_renew_status": "0"]),
            ("{expired: 3}", -3, -3, ended.merging(["expiration_intent": "3"]) { $1 }),
            (
                "price_increase", 10, 10,
                ["auto_renew_status": "1", "price_consent_status": "0", "price_increase_status": "0"]
            ),
        ] as [(String, Int64, Int64, [String: String])])
    func `a story decides about the end and the renewal`(
        story: String, end: Int64, newEnd: Int64, state: [String: String]
    ) throws {
        let answer = try answer(story, endingAfterDays: end)
        #expect(days(answer.newest, "expires_date") == newEnd)
        let products: Set = ["auto_renew_product_id", "product_id", "original_transaction_id"]
        #expect(try renewal(answer).filter { !products.contains($0.key) } == state)
    }

    @Test(arguments: [(10, 40), (-3, 27), (-31, 29), (-3000, 30)])
    func `renewed: a newer period exists than the receipt shows`(end: Int64, newEnd: Int64) throws {
        let answer = try answer("renewed", endingAfterDays: end)
        #expect(days(answer.newest, "expires_date") == newEnd)
        #expect(answer.newest["is_trial_period"] == "false")
        #expect(answer.newest["original_transaction_id"] == "1000")
        #expect(try renewal(answer)["auto_renew_status"] == "1")
        #expect(answer.latest.count <= 3 + Int(SimulatorLimits().maximumAddedPeriods))
        #expect(Set(answer.latest.map { $0["transaction_id"] }).count == answer.latest.count)
    }

    @Test func `renewed: of many periods the newest are returned`() throws {
        #expect(
            try answer("renewed", endingAfterDays: -3000).latest.count == 3 + Int(SimulatorLimits().maximumAddedPeriods)
        )
    }

    @Test func `in grace period: ended a day ago, collected for sixteen`() throws {
        let answer = try answer("in_grace_period", endingAfterDays: -50)
        let renewal = try renewal(answer)
        #expect(days(answer.newest, "expires_date") == -1)
        #expect(days(renewal, "grace_period_expires_date") == 15)
        #expect(renewal["is_in_billing_retry_period"] == "1" && renewal["expiration_intent"] == "2")
        #expect(renewal["auto_renew_status"] == "1")
    }

    @Test func `refunded: the last period is cancelled, in the latest receipt too`() throws {
        let answer = try answer("{refunded: 1}", endingAfterDays: 10)
        #expect(days(answer.newest, "cancellation_date") == 0 && answer.newest["cancellation_reason"] == "1")
        #expect(try renewal(answer)["auto_renew_status"] == "0")
        let latest = try answer.latestReceipt(at: ManualClock().now)
        #expect(Set(latest.purchases.filter { $0.cancellationDate != nil }.map(\.transactionID)) == ["1001", "2000"])
    }

    @Test func `refunded: so is an item bought once`() throws {
        let answer = try answer("{refunded: 0}", endingAfterDays: 10)
        let item = try #require(answer.latest.first { $0["transaction_id"] == "2000" })
        #expect(item["cancellation_reason"] == "0")
    }

    @Test(arguments: [("upgraded", "com.example.app.monthly.upgraded"), ("{upgraded: gold}", "gold")])
    func `upgraded: a better product took over`(story: String, product: String) throws {
        let answer = try answer(story, endingAfterDays: 10)
        let upgraded = answer.latest.filter { $0["is_upgraded"] == "true" }
        #expect(upgraded.map { $0["transaction_id"] } == ["1001"])
        #expect(upgraded.allSatisfy { $0["cancellation_date_ms"] != nil })
        #expect(answer.newest["product_id"] == product)
        #expect(try renewal(answer)["auto_renew_product_id"] == product)
    }

    @Test(arguments: [("switched", "com.example.app.monthly.other"), ("{switched: gold}", "gold")])
    func `switched: two plans for one original transaction, grace for the newer product`(
        story: String, product: String
    ) throws {
        let answer = try answer(story, endingAfterDays: -50)
        #expect(days(answer.newest, "expires_date") == -1 && answer.newest["product_id"] == product)
        #expect(answer.renewals.allSatisfy { $0["original_transaction_id"] == "1000" })
        let plans = Dictionary(grouping: answer.renewals) { $0["product_id"] ?? "" }
        #expect(plans.keys.sorted() == ["com.example.app.monthly", product].sorted())
        let former = try #require(plans["com.example.app.monthly"]?.first)
        #expect(former["auto_renew_product_id"] == "com.example.app.monthly" && former["auto_renew_status"] == "0")
        #expect(former["expiration_intent"] == "1" && former["is_in_billing_retry_period"] == "0")
        let newer = try #require(plans[product]?.first)
        #expect(newer["auto_renew_product_id"] == product && newer["auto_renew_status"] == "1")
        #expect(days(newer, "grace_period_expires_date") == 15 && newer["is_in_billing_retry_period"] == "1")
        let latest = try answer.latestReceipt(at: ManualClock().now)
        #expect(latest.purchases.contains { $0.productID == product && $0.originalTransactionID == "1000" })
    }

    @Test func `switched: the renewals come in either order`() throws {
        let first = try (1...20).map { seed in
            let store = try TestStore("seed: \(seed)\nstories: {default: {switched: gold}}")
            return try store.answer(to: Samples.receipt(endingAfterDays: -50)).renewals[0]["product_id"]
        }
        #expect(Set(first) == ["gold", "com.example.app.monthly"])
    }

    @Test(arguments: [10, 0, -1]) func `switched: nothing while the receipt's period has not been over for a day`(
        end: Int64
    ) throws {
        let answer = try answer("switched", endingAfterDays: end)
        #expect(days(answer.newest, "expires_date") == end && answer.renewals.count == 1)
        #expect(try renewal(answer)["product_id"] == "com.example.app.monthly")
    }

    @Test func `family shared: all periods are`() throws {
        let answer = try answer("family_shared", endingAfterDays: 10)
        #expect(answer.latest.allSatisfy { $0["in_app_ownership_type"] == "FAMILY_SHARED" })
    }

    @Test func `offer code: named beside the period and the renewal`() throws {
        let answer = try answer("{offer_code: SUMMER}", endingAfterDays: 10)
        #expect(answer.newest["offer_code_ref_name"] == "SUMMER")
        #expect(try renewal(answer)["offer_code_ref_name"] == "SUMMER")
    }

    @Test func `volume purchase: the latest receipt is one`() throws {
        let latest = try answer("vpp", endingAfterDays: 10).latestReceipt(at: ManualClock().now)
        #expect(latest.receiptType == "ProductionVPP" && latest.expirationDate != nil)
    }

    @Test func `iOS 6 style: an object, and dates in milliseconds`() throws {
        let answer = try answer("ios6_style", endingAfterDays: 10)
        let latest = try #require(answer.members["latest_receipt_info"] as? [String: Any])
        #expect(answer.status == 0 && answer.members["auto_renew_status"] as? Int == 1)
        #expect(latest["expires_date"] as? String == String((Self.start + 10 * 86_400) * 1000))
        #expect(latest["expires_date_formatted"] as? String == "2026-07-11 12:00:00 Etc/GMT")
        #expect(latest["bid"] as? String == "com.example.app" && answer.receipt["bid"] as? String == "com.example.app")
    }

    @Test func `iOS 6 style: an expired subscription has status 21006`() throws {
        let answer = try answer("ios6_style", endingAfterDays: -10)
        #expect(answer.status == 21006 && answer.members["latest_receipt_info"] == nil)
        #expect(answer.members["latest_expired_receipt_info"] is [String: Any])
        #expect(answer.members["expiration_intent"] as? String == "1")
    }

    @Test func `the first rule that applies decides`() throws {
        let store = try TestStore(
            """
            stories:
              default: family_shared
              rules:
                - {original_transaction_ids: ["2000"], story: {offer_code: GEMS}}
                - {product_id_suffix: .monthly, story: price_increase}
                - {original_transaction_ids: ["1000"], story: renewed}
            """)
        let answer = try store.answer(to: Samples.receipt())
        let item = try #require(answer.latest.first { $0["transaction_id"] == "2000" })
        #expect(item["offer_code_ref_name"] == "GEMS")
        #expect(item["in_app_ownership_type"] == "PURCHASED")
        #expect(try renewal(answer)["price_consent_status"] == "0")
    }

    @Test func `a story stays the same while the scenario runs`() throws {
        let store = try TestStore("stories: {default: in_grace_period}")
        let first = try store.answer(to: Samples.receipt(endingAfterDays: -50))
        store.clock.advance(bySeconds: 3600)
        let second = try store.answer(to: Samples.receipt(endingAfterDays: -50))
        #expect(first.newest == second.newest)
    }
}
