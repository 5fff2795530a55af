// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Gateway
import JSON
import ReceiptForge
import Receipts
import Testing

@testable import AppStore
@testable import Endpoints

struct LocalVerifyReceiptResponseTests {
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
        #expect(response.receipt?.expirationDate == Self.time(contents.expirationDate))
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
        _ contents: ReceiptContents, latestReceipt: String? = nil,
        showing isShown: (InAppPurchase) -> Bool = { _ in true }
    ) throws -> [UInt8] {
        var store = TrustStore.apple
        try store.add(pem: pki.rootPEM, environments: [.sandbox])
        let receipt = try ReceiptVerifier(trustStore: store).verify(pki.sign(contents), at: now)
        return LocalVerifyReceiptResponse(
            receipt: receipt, latest: receipt.purchases.filter(isShown).map { Transaction($0) },
            latestReceipt: latestReceipt, requestDate: now
        ).body
    }
}
