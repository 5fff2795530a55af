// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// The changes that notifications announce, in all interfaces.
struct EventTests {
    private func store(_ yaml: String = "", endingAfterDays days: Int64 = 10) throws -> TestStore {
        try TestStore(yaml, knowing: Samples.receipt(endingAfterDays: days))
    }

    /// Makes a notification about the usual subscription, and returns its claims.
    private func notify(
        _ store: TestStore, _ type: String, _ subtype: String? = nil,
        about id: String = #""original_transaction_id":"1000""#, _ more: String = ""
    ) async throws -> SubscriptionClaims {
        let subtype = subtype.map { #","subtype":"\#($0)""# } ?? ""
        let uuids = try await store.notify(#""type":"\#(type)",\#(id)\#(subtype)\#(more)"#)
        let items = try store.notificationHistory().items
        let item = try #require(items.first { [$0.uuid] == uuids })
        _ = try TestStore.verifier().verifyNotification(Array(item.signedPayload.utf8), at: store.clock.now)
        return item.data
    }

    @Test(arguments: [
        ("SUBSCRIBED", "INITIAL_BUY", 1, "1001"), ("SUBSCRIBED", "RESUBSCRIBE", 1, "12000"),
        ("DID_RENEW", nil, 1, "12000"), ("DID_RENEW", "BILLING_RECOVERY", 1, "12000"),
        ("DID_CHANGE_RENEWAL_PREF", "UPGRADE", 1, "12000"), ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", 1, "1001"),
        ("DID_CHANGE_RENEWAL_PREF", nil, 1, "1001"), ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", 1, "1001"),
        ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", 1, "1001"), ("OFFER_REDEEMED", nil, 1, "1001"),
        ("DID_FAIL_TO_RENEW", "GRACE_PERIOD", 4, "1001"), ("DID_FAIL_TO_RENEW", nil, 3, "1001"),
        ("GRACE_PERIOD_EXPIRED", nil, 3, "1001"), ("EXPIRED", "VOLUNTARY", 2, "1001"), ("EXPIRED", nil, 2, "1001"),
        ("PRICE_INCREASE", "PENDING", 1, "1001"), ("REFUND", nil, 5, "1001"), ("REFUND_REVERSED", nil, 1, "1001"),
        ("REFUND_DECLINED", nil, 1, "1001"), ("REVOKE", nil, 5, "1001"), ("CONSUMPTION_REQUEST", nil, 1, "1001"),
        ("RENEWAL_EXTENDED", nil, 1, "1001"), ("RENEWAL_EXTENSION", "FAILURE", 1, "1001"),
        ("NOT_YET_INVENTED", "SOMEHOW", 1, "1001"),
    ])
    func `Apple's answers agree with each notification`(
        type: String, subtype: String?, status: Int, id: String
    ) async throws {
        let store = try store()
        let notified = try await notify(store, type, subtype)
        #expect(notified.status == status && notified.transaction["transactionId"] as? String == id)
        let told = try #require(try store.call("v1/subscriptions/1000").statuses.first)
        #expect(told.status == status && Self.text(told.renewal) == Self.text(notified.renewal))
        let transaction = try store.call("v1/transactions/\(id)").claims(of: "signedTransactionInfo")
        #expect(Self.text(transaction) == Self.text(notified.transaction))
        #expect(try store.answer(to: Samples.receipt()).newest["transaction_id"] == id)
    }

    @Test(arguments: [
        ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", "autoRenewStatus", "0"),
        ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", "autoRenewProductId", "com.example.app.small"),
        ("DID_CHANGE_RENEWAL_PREF", "UPGRADE", "productId", "com.example.app.small"),
        ("OFFER_REDEEMED", nil, "offerIdentifier", "SIMULATED"),
        ("PRICE_INCREASE", "ACCEPTED", "priceIncreaseStatus", "1"),
        ("PRICE_INCREASE", "PENDING", "priceIncreaseStatus", "0"), ("EXPIRED", "VOLUNTARY", "expirationIntent", "1"),
        ("EXPIRED", "BILLING_RETRY", "expirationIntent", "2"), ("EXPIRED", "PRICE_INCREASE", "expirationIntent", "3"),
        ("EXPIRED", "PRODUCT_NOT_FOR_SALE", "expirationIntent", "4"), ("EXPIRED", nil, "expirationIntent", "5"),
        ("DID_FAIL_TO_RENEW", "GRACE_PERIOD", "gracePeriodExpiresDate", "1784289600000"),
        ("REFUND", nil, "autoRenewStatus", "0"),
    ])
    func `the renewal says why`(type: String, subtype: String?, claim: String, value: String) async throws {
        let notified = try await notify(try store(), type, subtype, #","product_id":"com.example.app.small""#)
        #expect(notified.renewal[claim].map { "\($0)" } == value)
    }

    @Test func `a subscription goes on after its end, and no story applies any more`() async throws {
        let store = try store("stories: {default: in_billing_retry}", endingAfterDays: -40)
        #expect(try store.call("v1/subscriptions/1000").statuses.first?.status == 3)
        let recovered = try await notify(store, "DID_RENEW", "BILLING_RECOVERY")
        #expect(recovered.transaction["purchaseDate"] as? Int64 == Samples.start.millisecondsSince1970)
        #expect(recovered.renewal["isInBillingRetryPeriod"] == nil && recovered.status == 1)
        store.clock.advance(bySeconds: 1)
        let renewed = try await notify(store, "DID_RENEW")
        #expect(renewed.transaction["purchaseDate"] as? Int64 == recovered.transaction["expiresDate"] as? Int64)
        #expect(try store.call("v2/history/1000").transactionIDs.count == 6)
    }

    @Test func `a refund is of one transaction, and can be reversed`() async throws {
        let store = try store()
        let refunded = try await notify(store, "REFUND", about: #""transaction_id":"1000""#)
        #expect(refunded.transaction["transactionId"] as? String == "1000" && refunded.status == 1)
        #expect(refunded.transaction["revocationDate"] as? Int64 == Samples.start.millisecondsSince1970)
        #expect(try store.call("v2/refund/lookup/1000").transactionIDs == ["1000"])
        let reversed = try await notify(store, "REFUND_REVERSED", about: #""transaction_id":"1000""#)
        #expect(reversed.transaction["revocationDate"] == nil)
        #expect(try store.call("v2/refund/lookup/1000").transactionIDs.isEmpty)
    }

    @Test func `single items are refunded and bought without a renewal`() async throws {
        let store = try store()
        let refunded = try await notify(store, "REFUND", about: #""transaction_id":"2000""#)
        #expect(refunded.transaction["revocationReason"] as? Int == 0)
        #expect(refunded.renewal.isEmpty && refunded.status == nil)
        let bought = try await notify(store, "ONE_TIME_CHARGE", nil, #","product_id":"com.example.app.gems""#)
        #expect(bought.transaction["productId"] as? String == "com.example.app.gems" && bought.renewal.isEmpty)
        #expect(try store.call("v2/history/1000").transactionIDs.contains("12000"))
    }

    @Test func `writes of the Server API apply after a notification`() async throws {
        let store = try store()
        let first = try await notify(store, "RENEWAL_EXTENDED")
        let body = #"{"extendByDays":30,"extendReasonCode":1,"requestIdentifier":"a"}"#
        #expect(try store.call("v1/subscriptions/extend/1000", .PUT, body).status == 200)
        let second = try await notify(store, "RENEWAL_EXTENDED")
        let third = try await notify(store, "DID_CHANGE_RENEWAL_STATUS")
        let ends = [first, second, third].compactMap { $0.transaction["expiresDate"] as? Int64 }
        #expect(ends == [40, 100, 100].map { Samples.start.advanced(byDays: $0).millisecondsSince1970 })
    }

    @Test func `notifications of one moment are signed one after the other`() async throws {
        let store = try store()
        let states = ["AUTO_RENEW_DISABLED", "AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED"]
        var notified: [SubscriptionClaims] = []
        for state in states { notified.append(try await notify(store, "DID_CHANGE_RENEWAL_STATUS", state)) }
        let start = Samples.start.millisecondsSince1970
        let dates = try store.notificationHistory().items.map { $0.claims["signedDate"] as? Int64 }
        #expect(dates == [start, start + 1, start + 2])
        #expect(notified.map { $0.renewal["signedDate"] as? Int64 } == [start, start + 1, start + 2])
        let told = try store.call("v1/subscriptions/1000").statuses.first
        #expect(told?.renewal["signedDate"] as? Int64 == start + 2)
    }

    @Test func `a withdrawn consent is about the app transaction`() async throws {
        let store = try store()
        let uuids = try await store.notify(#""type":"RESCIND_CONSENT","original_transaction_id":"1000""#)
        let item = try #require(try store.notificationHistory().items.first)
        let read = try TestStore.verified(item.signedPayload)
        #expect(read.appTransaction?.appTransactionID == "700000000000001000" && [read.notificationUUID] == uuids)
    }

    @Test(arguments: [
        (#""type":"EXTERNAL_PURCHASE_TOKEN","subtype":"CREATED""#, "externalPurchaseToken"),
        (#""type":"RENEWAL_EXTENSION","subtype":"SUMMARY""#, "summary"),
    ])
    func `some notifications are about the app`(members: String, name: String) async throws {
        let store = try TestStore()
        try await store.notify(members)
        let item = try #require(try store.notificationHistory().items.first)
        let about = item.claims[name] as? [String: Any]
        #expect(about?["bundleId"] as? String == TestStore.app && item.claims["data"] == nil)
    }

    /// Returns claims without the time of signing as a text that compares.
    private static func text(_ claims: [String: Any]) -> String {
        claims.filter { $0.key != "signedDate" }.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: "\n")
    }
}
