// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOHTTP1
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// Notifications of version 1.
struct FirstVersionTests {
    private func body(
        _ members: String, of receipt: ReceiptContents = Samples.receipt(), secret: String = "shared_secret: s3cret"
    ) async throws -> [String: Any] {
        let store = try TestStore(secret)
        _ = try store.answer(to: Samples.body(receipt, password: "s3cret"))
        var body: [String: Any] = [:]
        try await NotificationReceiver.with { receiver, url in
            try store.receiveNotifications(at: url, #","version":1"#)
            #expect(try await store.notify(members).isEmpty)
            body = try #require(receiver.requests.first?.members)
            #expect(try store.notificationHistory().items.isEmpty)
        }
        return body
    }

    @Test func `the body has the subscription, and a genuine receipt of the moment`() async throws {
        let body = try await body(#""type":"DID_RENEW","subtype":"BILLING_RECOVERY","original_transaction_id":"1000""#)
        let texts = body.compactMapValues { $0 as? String }
        #expect(texts["notification_type"] == "DID_RECOVER" && texts["environment"] == "PROD")
        #expect(texts["password"] == "s3cret" && texts["bid"] == TestStore.app && texts["auto_renew_status"] == "true")
        #expect(texts["auto_renew_product_id"] == "com.example.app.monthly")
        #expect(texts["original_transaction_id"] == "1000")
        let unified = try AppleAnswer(
            JSONSerialization.data(
                withJSONObject: try #require(body["unified_receipt"] as? [String: Any]), options: .sortedKeys))
        #expect(unified.status == 0 && unified.environment == "Production")
        #expect(unified.latest.map { $0["transaction_id"] } == ["12000", "2000", "1001", "1000"])
        #expect(unified.renewals.map { $0["auto_renew_status"] } == ["1"])
        let receipt = try unified.latestReceipt(at: Samples.start.timestamp)
        #expect(receipt.bundleID == TestStore.app && receipt.creationDate == Samples.start.timestamp)
        #expect(receipt.purchases.contains { $0.transactionID == "12000" })
    }

    @Test func `the end and its reason are named`() async throws {
        let failed = try await body(#""type":"DID_FAIL_TO_RENEW","original_transaction_id":"1000""#)
        #expect(failed["expiration_intent"] as? Int == 2)
        let off = try await body(
            #""type":"DID_CHANGE_RENEWAL_STATUS","subtype":"AUTO_RENEW_DISABLED","original_transaction_id":"1000""#)
        #expect(off["auto_renew_status"] as? String == "false")
        #expect(off["auto_renew_status_change_date_ms"] as? String == String(Samples.start.millisecondsSince1970))
    }

    @Test func `at most a hundred transactions are listed, and no secret without one`() async throws {
        let body = try await body(
            #""type":"REFUND","transaction_id":"5000""#, of: Samples.collector(items: 101), secret: "")
        let unified = try #require(body["unified_receipt"] as? [String: Any])
        #expect((unified["latest_receipt_info"] as? [Any])?.count == 100)
        #expect(body["password"] == nil && body["auto_renew_status"] == nil)
    }

    @Test func `types that version 1 has not are refused, and tests are of version 2`() async throws {
        let store = try TestStore(knowing: Samples.receipt())
        try await NotificationReceiver.with { receiver, url in
            try store.receiveNotifications(at: url, #","version":1"#)
            let members = #""bundle_id":"com.example.app","environment":"production","original_transaction_id":"1000""#
            let answer = try store.control(.POST, "/notifications", #"{\#(members),"type":"EXPIRED"}"#)
            #expect(answer.status == 422 && answer.body.hasPrefix("Version 1 has no notification for EXPIRED."))
            #expect(try store.call("v1/subscriptions/1000").statuses.first?.status == 1)
            #expect(try store.call("v1/notifications/test", .POST).status == 200)
            await store.store.sender.waitUntilIdle()
            #expect(receiver.requests.map { $0.claims["notificationType"] as? String } == ["TEST"])
        }
    }

    @Test(arguments: [
        (NotificationKind("SUBSCRIBED", "INITIAL_BUY"), "INITIAL_BUY"),
        (NotificationKind("SUBSCRIBED", "RESUBSCRIBE"), "INTERACTIVE_RENEWAL"),
        (NotificationKind("DID_CHANGE_RENEWAL_PREF", "UPGRADE"), "CANCEL"),
        (NotificationKind("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE"), "DID_CHANGE_RENEWAL_PREF"),
        (NotificationKind("PRICE_INCREASE", "PENDING"), "PRICE_INCREASE_CONSENT"),
        (NotificationKind("PRICE_INCREASE", "ACCEPTED"), nil), (NotificationKind("GRACE_PERIOD_EXPIRED"), nil),
        (NotificationKind("REVOKE"), "REVOKE"),
    ])
    func `version 1 has names of its own`(kind: NotificationKind, name: String?) {
        #expect(kind.firstVersionType == name)
    }
}
