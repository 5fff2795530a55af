// SPDX-License-Identifier: Apache-2.0

import JSON
import ReceiptForge
import Receipts
import Testing

@testable import API
@testable import AppStore
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport

struct AppReceiptResponseTests {
    private static let pki = ForgedPKI(seed: 7)
    private static let created = UTCDate(2023, 10, 12, 3, 1, 50)
    private static let now = Timestamp(millisecondsSince1970: 1_700_000_000_123)

    @Test func `an answer has Apple's names, types and order`() throws {
        var contents = ReceiptContents(bundleID: "com.example", creationDate: Self.created)
        contents.downloadID = 1 << 59
        contents.purchases = [PurchaseContents(productID: "item", transactionID: "1", purchaseDate: Self.created)]
        let expected = #"""
            {"status":0,"environment":"Sandbox","receipt":{"receipt_type":"ProductionSandbox","adam_id":0,"app_item_id":0,\#
            "bundle_id":"com.example","application_version":"1","download_id":576460752303423488,\#
            "version_external_identifier":0,"receipt_creation_date":"2023-10-12 03:01:50 Etc/GMT",\#
            "receipt_creation_date_ms":"1697079710000",\#
            "receipt_creation_date_pst":"2023-10-11 20:01:50 America/Los_Angeles",\#
            "request_date":"2023-11-14 22:13:20 Etc/GMT","request_date_ms":"1700000000123",\#
            "request_date_pst":"2023-11-14 14:13:20 America/Los_Angeles",\#
            "original_purchase_date":"2013-08-01 07:00:00 Etc/GMT","original_purchase_date_ms":"1375340400000",\#
            "original_purchase_date_pst":"2013-08-01 00:00:00 America/Los_Angeles","original_application_version":"1.0",\#
            "in_app":[{"quantity":"1","product_id":"item","transaction_id":"1","original_transaction_id":"1",\#
            "purchase_date":"2023-10-12 03:01:50 Etc/GMT","purchase_date_ms":"1697079710000",\#
            "purchase_date_pst":"2023-10-11 20:01:50 America/Los_Angeles",\#
            "original_purchase_date":"2023-10-12 03:01:50 Etc/GMT","original_purchase_date_ms":"1697079710000",\#
            "original_purchase_date_pst":"2023-10-11 20:01:50 America/Los_Angeles",\#
            "is_trial_period":"false","is_in_intro_offer_period":"false"}]}}
            """#
        #expect(try String(decoding: Self.body(contents), as: UTF8.self) == expected)
    }

    @Test func `the parser of Apple's answers reads local answers`() throws {
        var contents = ReceiptContents(bundleID: "com.example", creationDate: Self.created)
        contents.expirationDate = Self.created.advanced(byDays: 9)
        contents.preorderDate = Self.created.advanced(byDays: -9)
        contents.purchases = [Self.period("1", days: 0), Self.period("2", days: 30)]
        contents.purchases[1].cancellationDate = Self.created
        contents.purchases[1].cancellationReason = .issueInApp
        contents.purchases[1].webOrderLineItemID = 99
        contents.purchases[1].promotionalOfferID = "offer"
        contents.purchases[1].isTrialPeriod = true
        let response = try VerifyReceiptResponse(parsing: Self.body(contents))
        #expect(response.status == .valid && response.environment == .sandbox)
        #expect(response.receiptDate("expiration_date") == Self.time(contents.expirationDate))
        #expect(response.receiptDate("preorder_date") == Self.time(contents.preorderDate))
        for list in [response.receipt?.inApp ?? [], response.latestReceiptInfo] {
            #expect(list.map(\.transactionID) == ["1", "2"] && list.map(\.isTrialPeriod) == [false, true])
            #expect(list.map(\.expiresDate) == contents.purchases.map { Self.time($0.expiresDate) })
            #expect(list.map(\.cancellationDate) == [nil, Self.time(Self.created)])
            #expect(list.map(\.cancellationReason) == [nil, 1] && list.map(\.promotionalOfferID) == [nil, "offer"])
            #expect(list.map(\.webOrderLineItemID) == [nil, "99"])
        }
    }

    @Test func `without old transactions the receipt still lists all of its purchases`() throws {
        var contents = ReceiptContents(bundleID: "com.example", creationDate: Self.created)
        contents.purchases = [Self.period("1", days: 0), Self.period("2", days: 30)]
        let response = try VerifyReceiptResponse(parsing: Self.body(contents) { $0.transactionID == "2" })
        #expect(response.receipt?.inApp.map(\.transactionID) == ["1", "2"])
        #expect(response.latestReceiptInfo.map(\.transactionID) == ["2"])
    }

    @Test func `the latest receipt is the one sent, or Apple's if known`() throws {
        var contents = ReceiptContents(bundleID: "com.example", creationDate: Self.created)
        contents.purchases = [Self.period("1", days: 0)]
        let sent = try VerifyReceiptResponse(parsing: Self.body(contents)).latestReceipt
        #expect(try Base64.decode(#require(sent)) == Self.pki.sign(contents))
        let known = try VerifyReceiptResponse(parsing: Self.body(contents, latestReceipt: "QUJD")).latestReceipt
        #expect(known == "QUJD")
    }

    @Test func `without subscriptions there is no latest receipt`() throws {
        var contents = ReceiptContents(bundleID: "com.example", creationDate: Self.created)
        contents.purchases = [PurchaseContents(productID: "item", transactionID: "1", purchaseDate: Self.created)]
        let json = try VerifyReceiptResponse(parsing: Self.body(contents, latestReceipt: "QUJD")).json
        #expect(json["latest_receipt"] == nil && json["latest_receipt_info"] == nil)
    }

    @Test(arguments: [0, 1, 2] as [Int64]) func `attribute 1722 is not reported as ownership`(number: Int64) throws {
        var contents = ReceiptContents(bundleID: "com.example", creationDate: Self.created)
        contents.purchases = [Self.period("1", days: 0)]
        contents.purchases[0].attribute1722 = number
        let response = try VerifyReceiptResponse(parsing: Self.body(contents))
        let listed = try #require(response.receipt).inApp + response.latestReceiptInfo
        #expect(listed.count == 2 && listed.allSatisfy { $0.ownership == nil })
        #expect(!String(decoding: response.body, as: UTF8.self).contains("ownership"))
    }

    // MARK: - Rebuilt from the App Store Server API

    /// A period of the year or the month, with milliseconds of its own, as in signed data.
    private static func period(
        _ productID: String, _ transactionID: String, of chain: String = "1", _ days: Range<Int64>
    ) -> Transaction {
        var period = Transaction(productID: productID, transactionID: transactionID)
        (period.originalTransactionID, period.subscriptionGroupID) = (chain, "20")
        period.purchaseDate = time(created.advanced(byDays: days.lowerBound))
        period.expiresDate = time(created.advanced(byDays: days.upperBound))
        return period
    }

    @Test func `what notifications say of the plan is in the answer of a receipt`() throws {
        var contents = ReceiptContents(bundleID: "com.example", creationDate: Self.created)
        contents.purchases = [Self.period("1", days: 0)]
        let receipt = Evidence(receipt: Self.pki.sign(contents))
        var store = TrustStore.apple
        try store.add(pem: Self.pki.rootPEM, environments: [.sandbox])
        let service = VerificationService(verifier: CurrentVerifier(ReceiptVerifier(trustStore: store)))
        let verified = try service.computed(VerificationRequest(evidence: receipt), at: Self.now)
        let plan = Self.plan { $0.gracePeriodExpiresDate = Self.time(Self.created) }
        let answer = Answer(
            verdict: .genuine, subject: verified.subject,
            entitlements: Self.entitlements(verified.transactions.values, [plan]),
            provenance: Provenance(source: .notification, cache: .miss, verifiedAt: Self.now), freshUntil: Self.now)
        let reply = AppleFormEndpoint().replies(to: VerificationOptions(), with: answer, at: Self.now).first
        let plans = try VerifyReceiptResponse(parsing: reply.body.bytes).json["pending_renewal_info"]?.elements
        #expect(plans?.map { $0["grace_period_expires_date"]?.string } == ["2023-10-12 03:01:50 Etc/GMT"])
        let withoutPlans = AppReceiptResponse(
            receipt: try Self.verified(contents), entitlements: answer.entitlements, plans: [], latestReceipt: nil,
            requestDate: Self.now
        ).body
        #expect(try VerifyReceiptResponse(parsing: withoutPlans).json["pending_renewal_info"] == nil)
    }

    private static func listed(
        _ transactions: [Transaction], excludesOld: Bool = false, knownAt days: Int64? = nil
    ) throws -> [Transaction] {
        let contents = ReceiptContents(bundleID: "com.example", creationDate: created)
        var rules = SubscriptionRules()
        rules.knownAt = days.flatMap { time(created.advanced(byDays: $0)) }
        let body = AppReceiptResponse(
            receipt: try verified(contents),
            entitlements: Entitlements(in: TransactionList(transactions), at: now, rules: rules),
            excludesOldTransactions: excludesOld, plans: [], latestReceipt: nil, requestDate: now
        ).body
        return try VerifyReceiptResponse(parsing: body).latestReceiptInfo
    }

    @Test func `the latest transaction is not a refunded year, but the month that the customer bought since`() throws {
        var year = Self.period("yearly", "1", 0..<365)
        year.cancellationDate = Self.time(Self.created.advanced(byDays: 5))
        let month = Self.period("monthly", "2", 20..<50)
        for order in [[year, month], [month, year]] {
            #expect(try Self.listed(order, excludesOld: true).map(\.transactionID) == ["2"])
        }
    }

    @Test func `the latest transaction may be a renewal that has not begun`() throws {
        let day = Self.now.millisecondsSince1970 / 1000 - Self.created.secondsSince1970
        let running = Self.period("monthly", "1", 0..<(day / 86_400 + 1))
        let next = Self.period("monthly", "2", (day / 86_400 + 1)..<(day / 86_400 + 31))
        let year = Self.period("yearly", "3", of: "3", 0..<10)
        #expect(try Self.listed([running, next, year], excludesOld: true).map(\.transactionID) == ["2", "3"])
    }

    @Test func `an upgrade to another plan of the same product has the date of that plan`() throws {
        var month = Self.period("yearly", "1", 0..<30)
        month.isUpgraded = true
        let listed = try Self.listed([month, Self.period("yearly", "2", 20..<385)])
        #expect(listed.map(\.cancellationDate) == [Self.time(Self.created.advanced(byDays: 20)), nil])
    }

    @Test(arguments: [false, true])
    func `a period that was signed before an upgrade has the date of the upgrade`(isMarked: Bool) throws {
        var year = Self.period("yearly", "1", 0..<365)
        year.isUpgraded = isMarked
        let shared = Self.period("monthly", "3", of: "3", 5..<35), month = Self.period("monthly", "2", 20..<50)
        let listed = try Self.listed([year, shared, month], knownAt: 1)
        #expect(listed.map(\.isUpgraded) == [true, false, false])
        #expect(listed.map(\.cancellationDate) == [month.purchaseDate, nil, nil])
    }

    /// A renewal that only Apple knows, as in signed data: with milliseconds.
    private static func renewal() -> Transaction {
        var renewal = Transaction(productID: "yearly", transactionID: "2")
        renewal.originalTransactionID = "1"
        renewal.purchaseDate = time(created)?.advanced(by: .milliseconds(999))
        renewal.expiresDate = time(created.advanced(byDays: 365))
        (renewal.ownership, renewal.subscriptionGroupID, renewal.quantity) = (.familyShared, "20", 1)
        (renewal.isTrialPeriod, renewal.isInIntroOfferPeriod) = (false, false)
        renewal.signedFields = .value(SignedTransactionFields())
        return renewal
    }

    @Test func `later transactions have Apple's form, without the fields of signed data`() throws {
        var contents = ReceiptContents(bundleID: "com.example", creationDate: Self.created)
        contents.purchases = [PurchaseContents(productID: "item", transactionID: "3", purchaseDate: Self.created)]
        var item = Transaction(productID: "item", transactionID: "3")
        (item.ownership, item.isTrialPeriod, item.isInIntroOfferPeriod) = (.purchased, false, false)
        item.signedFields = .value(SignedTransactionFields())
        let body = try Self.body(contents, latest: [Self.renewal(), item], plans: [])
        let text = String(decoding: body, as: UTF8.self)
        let expected = #"""
            "latest_receipt_info":[{"quantity":"1","product_id":"yearly","transaction_id":"2",\#
            "original_transaction_id":"1","purchase_date":"2023-10-12 03:01:50 Etc/GMT",\#
            "purchase_date_ms":"1697079710000","purchase_date_pst":"2023-10-11 20:01:50 America/Los_Angeles",\#
            "expires_date":"2024-10-11 03:01:50 Etc/GMT","expires_date_ms":"1728615710000",\#
            "expires_date_pst":"2024-10-10 20:01:50 America/Los_Angeles","is_trial_period":"false",\#
            "is_in_intro_offer_period":"false","in_app_ownership_type":"FAMILY_SHARED",\#
            "subscription_group_identifier":"20"},{"product_id":"item","transaction_id":"3","is_trial_period":"false",\#
            "in_app_ownership_type":"PURCHASED"}],"latest_receipt":
            """#
        #expect(text.contains(expected), "\(text)")
        // Receipts do not contain the ownership of their own purchases, and Apple's answers do.
        let response = try VerifyReceiptResponse(parsing: body)
        #expect(response.receipt?.inApp.map(\.ownership) == [.purchased])
        #expect(response.json["pending_renewal_info"]?.elements == [])
    }

    private static func plan(_ edit: (inout Renewal) -> Void) -> Renewal {
        var plan = Renewal(originalTransactionID: "1")
        (plan.productID, plan.renewalProductID, plan.willRenew) = ("monthly", "yearly", true)
        edit(&plan)
        return plan
    }

    @Test(
        arguments: [
            (plan { _ in }, #""auto_renew_status":"1""#),
            // A running subscription has neither of the next two.
            (plan { ($0.isInBillingRetry, $0.willRenew) = (false, false) }, #""auto_renew_status":"0""#),
            (
                plan { ($0.expirationIntent, $0.isInBillingRetry) = (.billingError, true) },
                #""auto_renew_status":"1","expiration_intent":"2","is_in_billing_retry_period":"1""#
            ),
            (
                plan { ($0.expirationIntent, $0.isInBillingRetry) = (.unknown, nil) },
                #""auto_renew_status":"1","expiration_intent":"5","is_in_billing_retry_period":"0""#
            ),
            (
                plan { $0.gracePeriodExpiresDate = time(created) },
                """
                "auto_renew_status":"1","grace_period_expires_date":"2023-10-12 03:01:50 Etc/GMT",\
                "grace_period_expires_date_ms":"1697079710000",\
                "grace_period_expires_date_pst":"2023-10-11 20:01:50 America/Los_Angeles"
                """
            ),
            (
                plan { $0.priceConsent = .pending },
                #""auto_renew_status":"1","price_consent_status":"0","price_increase_status":"0""#
            ),
            (plan { $0.priceConsent = .givenOrNotNeeded }, #""auto_renew_status":"1","price_increase_status":"1""#),
            (
                plan { $0.priceConsent = .given },
                #""auto_renew_status":"1","price_consent_status":"1","price_increase_status":"1""#
            ),
            (
                plan { ($0.promotionalOfferID, $0.offerCodeName) = ("a", "b") },
                #""auto_renew_status":"1","promotional_offer_id":"a","offer_code_ref_name":"b""#
            ),
        ] as [(Renewal, String)])
    func `a plan to renew has Apple's form`(plan: Renewal, rest: String) throws {
        let contents = ReceiptContents(bundleID: "com.example", creationDate: Self.created)
        let text = String(
            decoding: try Self.body(contents, latest: [Self.renewal()], plans: [plan]), as: UTF8.self)
        let start = #""auto_renew_product_id":"yearly","product_id":"monthly","original_transaction_id":"1","#
        #expect(text.hasSuffix(#""pending_renewal_info":[{\#(start)\#(rest)}]}"#), "\(text)")
    }

    private static func period(_ transactionID: String, days: Int64) -> PurchaseContents {
        let start = created.advanced(byDays: days)
        var purchase = PurchaseContents(productID: "monthly", transactionID: transactionID, purchaseDate: start)
        purchase.originalTransactionID = "1"
        purchase.expiresDate = start.advanced(byDays: 30)
        return purchase
    }

    private static func time(_ date: UTCDate?) -> Timestamp? {
        date.map { Timestamp(millisecondsSince1970: $0.secondsSince1970 * 1000) }
    }

    private static func body(
        _ contents: ReceiptContents, latest: [Transaction], plans: [Renewal]
    ) throws -> [UInt8] {
        AppReceiptResponse(
            receipt: try verified(contents), entitlements: entitlements(latest, plans), plans: plans, hasAllPlans: true,
            latestReceipt: nil, requestDate: now
        ).body
    }

    private static func entitlements(_ transactions: [Transaction], _ plans: [Renewal] = []) -> Entitlements {
        Entitlements(in: TransactionList(transactions), renewals: plans, at: now, rules: SubscriptionRules())
    }

    private static func verified(_ contents: ReceiptContents) throws -> VerifiedReceipt {
        var store = TrustStore.apple
        try store.add(pem: pki.rootPEM, environments: [.sandbox])
        return try ReceiptVerifier(trustStore: store).verify(pki.sign(contents), at: now)
    }

    private static func body(
        _ contents: ReceiptContents, latestReceipt: String? = nil,
        showing isShown: (InAppPurchase) -> Bool = { _ in true }
    ) throws -> [UInt8] {
        let receipt = try verified(contents)
        return AppReceiptResponse(
            receipt: receipt, entitlements: entitlements(receipt.purchases.filter(isShown).map { Transaction($0) }),
            latestReceipt: latestReceipt, requestDate: now
        ).body
    }
}
