// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import AppleSimulator

/// Both interfaces give the same answer in each story.
struct AgreementTests {
    static let stories = [
        "as_in_receipt", "renewed", "will_not_renew", "in_grace_period", "in_billing_retry", "{expired: 3}",
        "{refunded: 0}", "{refunded: 1}", "upgraded", "switched", "family_shared", "price_increase",
        "{offer_code: SUMMER}", "vpp",
    ]

    /// The answers of both interfaces about a subscription that ends this many days after the start.
    private struct Answers {
        let verifyReceipt: AppleAnswer
        let history: APIReply
        let statuses: APIReply

        init(_ story: String, endingAfterDays days: Int64) throws {
            let store = try TestStore("stories: {default: \(story)}")
            verifyReceipt = try store.know(Samples.receipt(endingAfterDays: days))
            history = try store.call("v2/history/1000")
            statuses = try store.call("v1/subscriptions/1000")
        }
    }

    @Test(arguments: stories, [10, -3, -50])
    func `transactions agree field by field`(story: String, days: Int64) throws {
        let answers = try Answers(story, endingAfterDays: days)
        let elements = Dictionary(grouping: answers.verifyReceipt.latest) { $0["transaction_id"] ?? "" }
        #expect(answers.history.status == 200 && answers.history.hasMore == false)
        #expect(Set(answers.history.transactionIDs) == Set(elements.keys))
        for claims in answers.history.transactions {
            let element = try #require(elements[claims["transactionId"] as? String ?? ""]?.first)
            #expect(Self.fields(ofClaims: claims) == element.filter { Self.comparedFields.contains($0.key) })
        }
    }

    @Test(arguments: stories, [10, -3, -50])
    func `renewals agree field by field`(story: String, days: Int64) throws {
        let answers = try Answers(story, endingAfterDays: days)
        let status = try #require(answers.statuses.statuses.first)
        let info = status.renewal, renewals = answers.verifyReceipt.renewals
        let element = try #require(renewals.first { $0["product_id"] == info["productId"] as? String })
        #expect(
            Self.fields(ofRenewal: info) == element.filter { !$0.key.hasSuffix("_pst") && !$0.key.hasSuffix("date") })
        #expect(status.transaction["transactionId"] as? String == answers.verifyReceipt.newest["transaction_id"])
    }

    @Test(arguments: [
        ("as_in_receipt", 10, 1), ("as_in_receipt", -3, 2), ("renewed", -3, 1), ("will_not_renew", 10, 1),
        ("in_billing_retry", -50, 3), ("in_grace_period", -50, 4), ("{refunded: 1}", 10, 5), ("{expired: 2}", -3, 2),
        ("upgraded", 10, 1), ("switched", -50, 4), ("family_shared", 10, 1),
    ])
    func `each story has its status`(story: String, days: Int64, status: Int) throws {
        let answers = try Answers(story, endingAfterDays: days)
        #expect(answers.statuses.statuses.map(\.status) == [status])
    }

    @Test func `a deleted account is one for both`() throws {
        let store = try TestStore("stories: {default: account_deleted}")
        #expect(try store.know(Samples.receipt()).status == 21010)
        #expect(try store.call("v2/history/1000").errorCode == 4_040_001)
        #expect(try store.call("v1/subscriptions/2000").errorCode == 4_040_001)
    }

    @Test func `all signed data verifies below the simulator's root`() throws {
        let store = try TestStore(knowing: Samples.receipt())
        let (verifier, now) = (try TestStore.verifier(), store.clock.now)
        let history = try store.call("v2/history/1000")
        #expect(history.signed.count == 3)
        for jws in history.signed {
            let transaction = try verifier.verifyTransaction(Array(jws.utf8), at: now)
            #expect(transaction.bundleID == TestStore.app && transaction.environment == .production)
            #expect(transaction.signedDate == now)
        }
        let status = try #require(try store.call("v1/subscriptions/1000").statuses.first)
        let info = try #require(status.members["signedRenewalInfo"] as? String)
        #expect(try verifier.verifyRenewalInfo(Array(info.utf8), at: now).originalTransactionID == "1000")
        let app = try #require(
            try store.call("v1/transactions/appTransactions/1000").json["signedAppTransactionInfo"] as? String)
        let transaction = try verifier.verifyAppTransaction(Array(app.utf8), at: now)
        #expect(transaction.appTransactionID == "700000000000001000" && transaction.appAppleID == 9_007_199_254_740_993)
        #expect(transaction.applicationVersion == nil && transaction.versionExternalIdentifier == nil)
    }

    @Test func `within a second a history is repeated, and statuses are signed at the time of the call`() throws {
        let store = try TestStore(knowing: Samples.receipt())
        let history = try store.call("v2/history/1000").signed
        store.clock.advance(bySeconds: 0.5)
        #expect(try store.call("v2/history/1000").signed == history)
        let status = try #require(try store.call("v1/subscriptions/1000").statuses.first)
        for claims in [status.transaction, status.renewal] {
            #expect(claims["signedDate"] as? Int64 == store.clock.now.millisecondsSince1970)
        }
    }
}

extension AgreementTests {
    static let comparedFields: Set<String> = [
        "quantity", "product_id", "transaction_id", "original_transaction_id", "purchase_date_ms",
        "original_purchase_date_ms", "expires_date_ms", "cancellation_date_ms", "cancellation_reason",
        "web_order_line_item_id", "is_trial_period", "is_in_intro_offer_period", "promotional_offer_id",
        "in_app_ownership_type", "is_upgraded", "offer_code_ref_name", "subscription_group_identifier",
        "app_account_token",
    ]

    /// Returns the fields of `latest_receipt_info` that follow from claims.
    static func fields(ofClaims claims: [String: Any]) -> [String: String] {
        let names = [
            "quantity": "quantity", "productId": "product_id", "transactionId": "transaction_id",
            "originalTransactionId": "original_transaction_id", "purchaseDate": "purchase_date_ms",
            "originalPurchaseDate": "original_purchase_date_ms", "expiresDate": "expires_date_ms",
            "revocationDate": "cancellation_date_ms", "revocationReason": "cancellation_reason",
            "webOrderLineItemId": "web_order_line_item_id", "inAppOwnershipType": "in_app_ownership_type",
            "subscriptionGroupIdentifier": "subscription_group_identifier", "appAccountToken": "app_account_token",
        ]
        var fields = renamed(claims, names)
        let (type, identifier) = (claims["offerType"] as? Int, claims["offerIdentifier"] as? String)
        let isTrial = claims["offerDiscountType"] as? String == "FREE_TRIAL"
        fields["is_trial_period"] = isTrial ? "true" : "false"
        fields["is_in_intro_offer_period"] = type == 1 && !isTrial ? "true" : "false"
        fields["promotional_offer_id"] = type == 2 ? identifier : nil
        fields["offer_code_ref_name"] = type == 3 ? identifier : nil
        fields["is_upgraded"] = claims["isUpgraded"] as? Bool == true ? "true" : nil
        return fields
    }

    /// Returns the fields of `pending_renewal_info` that follow from claims.
    static func fields(ofRenewal claims: [String: Any]) -> [String: String] {
        let names = [
            "autoRenewProductId": "auto_renew_product_id", "productId": "product_id",
            "originalTransactionId": "original_transaction_id", "autoRenewStatus": "auto_renew_status",
            "expirationIntent": "expiration_intent", "gracePeriodExpiresDate": "grace_period_expires_date_ms",
            "priceIncreaseStatus": "price_increase_status",
        ]
        var fields = renamed(claims, names)
        fields["price_consent_status"] = fields["price_increase_status"]
        fields["is_in_billing_retry_period"] = (claims["isInBillingRetryPeriod"] as? Bool).map { $0 ? "1" : "0" }
        let (type, identifier) = (claims["offerType"] as? Int, claims["offerIdentifier"] as? String)
        fields["promotional_offer_id"] = type == 2 ? identifier : nil
        fields["offer_code_ref_name"] = type == 3 ? identifier : nil
        return fields
    }

    private static func renamed(_ claims: [String: Any], _ names: [String: String]) -> [String: String] {
        var fields: [String: String] = [:]
        for (claim, field) in names {
            if let text = claims[claim] as? String { fields[field] = text }
            if let number = claims[claim] as? Int64 { fields[field] = String(number) }
        }
        return fields
    }
}
