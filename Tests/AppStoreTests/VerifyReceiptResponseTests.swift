// SPDX-License-Identifier: Apache-2.0

import Gateway
import JSON
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import AppStore

struct VerifyReceiptResponseTests {
    // MARK: - Documented members

    @Test func `every documented member of a transaction is read`() throws {
        let transaction = try #require(Self.read(latest: Self.transaction).latestReceiptInfo.first)
        #expect(transaction.productID == "monthly" && transaction.transactionID == "2")
        #expect(transaction.originalTransactionID == "1" && transaction.isUpgraded)
        #expect(transaction.purchaseDate == Self.time(1) && transaction.originalPurchaseDate == Self.time(2))
        #expect(transaction.expiresDate == Self.time(3) && transaction.cancellationDate == Self.time(4))
        #expect(transaction.cancellationReason == 1 && transaction.quantity == 3)
        #expect(transaction.ownership == .familyShared)
        #expect(transaction.isTrialPeriod == true && transaction.isInIntroOfferPeriod == false)
        #expect(transaction.appAccountToken == "token" && transaction.offerCodeName == "code")
        #expect(transaction.promotionalOfferID == "offer" && transaction.subscriptionGroupID == "group")
        #expect(transaction.webOrderLineItemID == "9")
    }

    @Test func `every documented member of a renewal is read`() throws {
        let renewal = try #require(Self.read(renewal: Self.renewal).pendingRenewalInfo.first)
        #expect(renewal.originalTransactionID == "1" && renewal.productID == "monthly")
        #expect(renewal.willRenew == false && renewal.isInBillingRetry == true)
        #expect(renewal.gracePeriodExpiresDate == Self.time(5) && renewal.expirationIntent == .billingError)
        #expect(renewal.renewalProductID == "yearly" && renewal.offerCodeName == "code")
        #expect(renewal.promotionalOfferID == "offer" && renewal.priceConsent == .given)
    }

    @Test(
        arguments: [
            (#""price_increase_status":"0""#, Renewal.PriceConsent.pending), (#""price_consent_status":"1""#, .given),
            (#""price_consent_status":"0","price_increase_status":"1""#, .pending), (#""a":1"#, nil),
        ] as [(String, Renewal.PriceConsent?)])
    func `the consent to a price has two names`(members: String, consent: Renewal.PriceConsent?) throws {
        let renewals = try Self.read(renewal: #"{"original_transaction_id":"1",\#(members)}"#).pendingRenewalInfo
        #expect(renewals.map(\.priceConsent) == [consent])
    }

    @Test func `a member of the receipt that decides nothing spoils nothing`() throws {
        let receipt = try #require(
            Self.read(
                receipt: #"{"bundle_id":"com.example","in_app":[],"expiration_date_ms":"soon","download_id":[]}"#
            ).receipt)
        #expect(receipt.bundleID == "com.example" && receipt.inApp.isEmpty)
    }

    @Test(
        arguments: [
            (#"{"status":0,"latest_receipt":"QUJD","receipt":{}}"#, "QUJD"),
            (#" {"a":[1,{"latest_receipt":"no"}],"b":{"latest_receipt":"no"},"latest_receipt" : "QU\/D"}"#, "QU/D"),
            (#"{"status":0}"#, nil), (#"{"latest_receipt":null}"#, nil), (#"{"latest_receipt":7}"#, nil),
            (#"{"latest_receipt":"QUJD"#, nil), ("[]", nil), ("", nil),
        ] as [(String, String?)])
    func `the latest receipt is found in a body again`(body: String, latest: String?) {
        #expect(VerifyReceiptResponse.latestReceipt(ofKnown: Array(body.utf8).span) == latest)
    }

    @Test func `iOS 6 style answers are read by the same names`() throws {
        let transaction = """
            {"bid":"com.example","bvrs":"7","product_id":"monthly","transaction_id":"2","original_transaction_id":"1",
             "item_id":"5","unique_identifier":"u","purchase_date_ms":"1000",
             "purchase_date":"1970-01-01 00:00:01 Etc/GMT","expires_date":"1350157508197",
             "expires_date_formatted":"2012-10-13 19:45:08 Etc/GMT"}
            """
        let response = try Self.read(
            """
            {"status":21006,"auto_renew_status":0,"auto_renew_product_id":"yearly","expiration_intent":"1",
             "receipt":\(transaction),"latest_receipt_info":\(transaction),"latest_expired_receipt_info":\(transaction)}
            """)
        #expect(response.status == .subscriptionExpired && response.environment == nil)
        #expect(response.receipt?.bundleID == "com.example")
        let expected = Timestamp(millisecondsSince1970: 1_350_157_508_197)
        let lists = [response.receipt?.inApp ?? [], response.latestReceiptInfo, response.latestExpiredReceiptInfo]
        for list in lists { #expect(list.map(\.expiresDate) == [expected]) }
        var renewal = Renewal(originalTransactionID: "1")
        (renewal.willRenew, renewal.renewalProductID) = (false, "yearly")
        renewal.expirationIntent = .customerCancelled
        #expect(response.pendingRenewalInfo == [renewal])
    }

    @Test(
        arguments: [
            (#""is_retryable":true"#, true), (#""is-retryable":true"#, true), (#""is_retryable":1"#, true),
            (#""is_retryable":"1""#, true), (#""is-retryable":"true""#, true), (#""is_retryable":false"#, false),
            (#""is-retryable":0"#, false), (#""is_retryable":"0""#, false), (#""is_retryable":"false""#, false),
            (#""is_retryable":"maybe""#, nil), (#""is_retryable":null"#, nil), (#""is_retryable":[]"#, nil),
            (#""a":1"#, nil),
        ] as [(String, Bool?)])
    func `is_retryable has many forms`(member: String, expected: Bool?) throws {
        #expect(try Self.read(#"{"status":21100,\#(member)}"#).isRetryable == expected)
    }

    @Test(arguments: [("0", 0), ("21007", 21007), (#""21002""#, 21002), ("99999", 99999)])
    func `the status may be a number or a string`(written: String, code: Int) throws {
        let json = #"{"status":\#(written),"receipt":{"bundle_id":"a"},"exception":"com.apple.Oops"}"#
        let response = try Self.read(json)
        #expect(response.status.code == code && response.exception == "com.apple.Oops")
        #expect(response.body == Array(json.utf8))
    }

    @Test func `a body that Apple does not confirm has only its status`() throws {
        let response = try Self.read(
            """
            {"status":21003,"environment":"Sandbox","latest_receipt":"AQID","auto_renew_status":"1",
             "receipt":{"bundle_id":"a","in_app":[\(Self.transaction)]},"latest_receipt_info":[\(Self.transaction)],
             "pending_renewal_info":[\(Self.renewal)]}
            """)
        #expect(response.receipt == nil && response.environment == nil && response.latestReceipt == nil)
        #expect(response.latestReceiptInfo.isEmpty && response.pendingRenewalInfo.isEmpty)
        #expect(response.json["receipt"]?["bundle_id"]?.string == "a")
    }

    @Test func `members beside other statuses cannot break them`() throws {
        #expect(try Self.read(#"{"status":21007,"receipt":7,"latest_receipt_info":"x"}"#).status == .sandboxReceipt)
    }

    // MARK: - Dates

    @Test(
        arguments: [
            (#""expires_date_ms":"1000","expires_date":"2001-01-01 00:00:00 Etc/GMT""#, 1_000),
            (#""expires_date_ms":1000"#, 1_000), (#""expires_date":"1000""#, 1_000), (#""expires_date":1000"#, 1_000),
            (#""expires_date":"1970-01-01 00:00:01 Etc/GMT""#, 1_000),
            (#""expires_date_formatted":"1970-01-01 00:00:01 Etc/GMT""#, 1_000),
            (#""expires_date_pst":"1969-12-31 16:00:01 America/Los_Angeles""#, 1_000),
            (#""expires_date_ms":"-62136028800000""#, nil), (#""expires_date":"0000-12-30 00:00:00 Etc/GMT""#, nil),
            (#""expires_date_ms":"","expires_date":null"#, nil), (#""a":1"#, nil),
        ] as [(String, Int64?)])
    func `a date is read from its milliseconds, else from its other forms`(members: String, expected: Int64?)
        throws
    {
        let response = try Self.read(latest: #"{"product_id":"p","transaction_id":"1",\#(members)}"#)
        #expect(response.latestReceiptInfo.map { $0.expiresDate?.millisecondsSince1970 } == [expected])
    }

    // MARK: - Unusable answers

    @Test(arguments: [
        ("", AppStoreFault.empty), (" \r\n", .empty), ("<html><body>Error</body></html>", .html),
        ("\n <!DOCTYPE html>", .html), (#"{"status":0,"receipt":{"bun"#, .truncated), ("{", .truncated),
        ("[]", .notAnObject), ("\"ok\"", .notAnObject), ("{}", .noStatus), (#"{"error":"x"}"#, .noStatus),
        (#"{"status":"OK"}"#, .unreadableStatus), (#"{"status":null}"#, .unreadableStatus),
        (#"{"status":1.5}"#, .unreadableStatus), (#"{"status":true}"#, .unreadableStatus),
        ("Service Unavailable", .notJSON(rule: "unexpected_byte", position: 0)),
        (#"{"status":0}<html>"#, .notJSON(rule: "trailing_data", position: 12)),
        (#"{"status":0,"status":21003}"#, .notJSON(rule: "duplicate_field", position: 13)),
        (#"{"status":0}"#, .missing("receipt")), (#"{"status":0,"receipt":null}"#, .missing("receipt")),
        (#"{"status":0,"receipt":[]}"#, .unreadable("receipt")),
        (#"{"status":0,"receipt":{}}"#, .missing("receipt.bundle_id")),
        (#"{"status":0,"receipt":{"bundle_id":["a"]}}"#, .unreadable("receipt.bundle_id")),
        (#"{"status":0,"receipt":{"bundle_id":"a","in_app":1}}"#, .unreadable("receipt.in_app")),
        (#"{"status":0,"receipt":{"bundle_id":"a","in_app":"x"}}"#, .unreadable("receipt.in_app")),
        (#"{"status":0,"receipt":{"bundle_id":"a"},"environment":"PROD"}"#, .unreadable("environment")),
        (#"{"status":0,"receipt":{"bundle_id":"a"},"environment":"Xcode"}"#, .unreadable("environment")),
        (#"{"status":0,"receipt":{"bundle_id":"a"},"environment":1}"#, .unreadable("environment")),
    ])
    func `an unusable answer has its fault`(body: String, fault: AppStoreFault) {
        #expect(throws: fault) { try Self.read(body) }
    }

    @Test(arguments: [
        "purchase_date_ms", "expires_date_ms", "expires_date", "cancellation_date_ms", "cancellation_date",
        "is_upgraded", "original_transaction_id", "product_id", "transaction_id",
    ])
    func `a transaction with an unreadable decisive member is left out, and named`(_ name: String) throws {
        let values = [#"{"a":1}"#, "[]", name == "is_upgraded" ? "2" : "true", #""soon""#]
        for value in values where !(value == #""soon""# && name.hasSuffix("_id")) {
            var members = ["product_id": "\"p\"", "transaction_id": "\"1\""]
            members[name] = value
            let object = "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
            let latest = try Self.read(latest: object)
            #expect(latest.latestReceiptInfo.isEmpty, "\(value)")
            #expect(latest.unreadable.map(\.fault) == ["unreadable latest_receipt_info.\(name)"])
            #expect(latest.unreadable[0].isRevoked == name.hasPrefix("cancellation"))
            #expect(latest.unreadable[0].transactionID == (name == "transaction_id" ? nil : "1"))
            let receipt = try Self.read(
                receipt: #"{"bundle_id":"a","in_app":[\#(object),{"product_id":"q","transaction_id":"2"}]}"#)
            #expect(receipt.receipt?.inApp.map(\.transactionID) == ["2"])
            #expect(receipt.unreadable.map(\.fault) == ["unreadable receipt.in_app.\(name)"])
        }
    }

    @Test(arguments: [
        "grace_period_expires_date_ms", "grace_period_expires_date", "is_in_billing_retry_period",
        "original_transaction_id",
    ])
    func `a renewal with an unreadable decisive member is left out`(_ name: String) throws {
        let response = try Self.read(renewal: #"{"\#(name)":[1]}"#)
        #expect(response.pendingRenewalInfo.isEmpty)
        #expect(response.unreadable.map(\.fault) == ["unreadable pending_renewal_info.\(name)"])
    }

    @Test(arguments: [
        (#"{"transaction_id":"1"}"#, "missing latest_receipt_info.product_id"),
        (#"{"product_id":"1","transaction_id":""}"#, "missing latest_receipt_info.transaction_id"),
        ("1", "missing latest_receipt_info.product_id"), ("null", "missing latest_receipt_info.product_id"),
    ])
    func `a transaction without an ID is left out`(transaction: String, fault: String) throws {
        let response = try Self.read(latest: transaction)
        #expect(response.latestReceiptInfo.isEmpty && response.unreadable.map(\.fault) == [fault])
    }

    @Test func `an unreadable member that decides nothing counts as absent`() throws {
        let transaction = try Self.read(
            latest: """
                {"product_id":"p","transaction_id":1,"quantity":"many","is_trial_period":"perhaps","cancellation_reason":{},
                 "in_app_ownership_type":"LEASED","original_purchase_date_ms":"x","app_account_token":[]}
                """
        ).latestReceiptInfo[0]
        #expect(transaction.transactionID == "1" && transaction.quantity == nil && transaction.isTrialPeriod == nil)
        #expect(transaction.cancellationReason == nil && transaction.ownership == nil)
        #expect(transaction.originalPurchaseDate == nil && transaction.appAccountToken == nil)
        let renewal = try Self.read(
            renewal: """
                {"original_transaction_id":"1","auto_renew_status":"2","expiration_intent":"9","product_id":{},
                 "price_consent_status":[]}
                """
        ).pendingRenewalInfo
        #expect(renewal == [Renewal(originalTransactionID: "1")])
    }

    /// Bytes changed, inserted and removed, from a fixed seed: parsing must end.
    @Test func `parsing any bytes ends with an answer or a fault`() {
        let json = #"{"status":0,"receipt":{"bundle_id":"a","in_app":[\#(Self.transaction)]},"environment":"Sandbox"}"#
        var (random, readable) = (SplitMix64(seed: TestSeed.number(1)), 0)
        for _ in 0..<2_000 {
            var body = Array(json.utf8)
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let place = Int.random(in: 0..<body.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: body.remove(at: place)
                case 1: body.insert(.random(in: .min ... .max, using: &random), at: place)
                case 2: body[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                default: body[place] = Array(#"{}[]",:\0-9eu"#.utf8).randomElement(using: &random) ?? 0
                }
            }
            if (try? VerifyReceiptResponse(parsing: body)) != nil { readable += 1 }
        }
        #expect((1..<2_000).contains(readable))
    }

    @Test func `the size of a body is limited`() throws {
        let json = #"{"status":21005}"#
        let size = json.utf8.count
        let limits = { JSONValue.Limits(bytes: $0) }
        _ = try VerifyReceiptResponse(parsing: Array(json.utf8), limits: limits(size))
        #expect(throws: AppStoreFault.tooLarge) {
            try VerifyReceiptResponse(parsing: Array(json.utf8), limits: limits(size - 1))
        }
        #expect(throws: AppStoreFault.tooLarge) {
            try VerifyReceiptResponse(parsing: [UInt8](repeating: 0x20, count: 16 << 20 + 1))
        }
    }

    @Test func `a description shows no contents`() throws {
        let response = try Self.read(latest: Self.transaction)
        var shown = "\(response) \(response.latestReceiptInfo) \(String(reflecting: response.receipt))"
        dump(response, to: &shown)
        #expect(!shown.contains("monthly") && !shown.contains("bundle"))
    }

    // MARK: - Samples

    private static let transaction = """
        {"product_id":"monthly","transaction_id":"2","original_transaction_id":"1","purchase_date_ms":"1000",
         "original_purchase_date_ms":"2000","expires_date_ms":"3000","cancellation_date_ms":"4000",
         "cancellation_reason":"1","quantity":"3","in_app_ownership_type":"FAMILY_SHARED","is_trial_period":"true",
         "is_in_intro_offer_period":"false","is_upgraded":"true","app_account_token":"token",
         "offer_code_ref_name":"code","promotional_offer_id":"offer","subscription_group_identifier":"group",
         "web_order_line_item_id":"9"}
        """

    private static let renewal = """
        {"auto_renew_product_id":"yearly","auto_renew_status":"0","expiration_intent":"2","product_id":"monthly",
         "grace_period_expires_date_ms":"5000","is_in_billing_retry_period":"1","offer_code_ref_name":"code",
         "original_transaction_id":"1","price_consent_status":"1","price_increase_status":"0",
         "promotional_offer_id":"offer"}
        """

    private static func time(_ seconds: Int64) -> Timestamp { Timestamp(millisecondsSince1970: seconds * 1000) }

    private static func read(_ json: String) throws -> VerifyReceiptResponse {
        try VerifyReceiptResponse(parsing: Array(json.utf8))
    }

    private static func read(receipt: String) throws -> VerifyReceiptResponse {
        try read(#"{"status":0,"environment":"Production","receipt":\#(receipt)}"#)
    }

    private static func read(latest: String) throws -> VerifyReceiptResponse {
        try read(#"{"status":0,"receipt":{"bundle_id":"a"},"latest_receipt_info":[\#(latest)]}"#)
    }

    private static func read(renewal: String) throws -> VerifyReceiptResponse {
        try read(#"{"status":0,"receipt":{"bundle_id":"a"},"pending_renewal_info":[\#(renewal)]}"#)
    }
}
