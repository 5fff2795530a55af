// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import ReceiptForge
import Receipts
import Resilience
import Testing

@testable import API
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport

/// The answers of `POST /v1/purchase/verify`.
struct PurchaseVerifyTests {
    private typealias Samples = PluginSamples

    /// Returns the JSON of the answer to a signed transaction with an ID, a product and a type.
    private static func verified(
        _ id: String, _ product: String, _ type: String = "Auto-Renewable Subscription", chain: String? = nil,
        in transactions: [Transaction], _ plans: [Renewal] = [], expecting expected: String? = nil
    ) throws -> NSDictionary {
        var contents = TransactionContents()
        (contents.transactionID, contents.originalTransactionID) = (id, chain ?? id)
        (contents.productID, contents.type) = (product, type)
        if type != "Auto-Renewable Subscription" { contents.expiresDate = nil }
        var options = VerificationOptions()
        options.expectedProductID = expected
        let answer = try Samples.answer(transactions, plans, sent: contents)
        return try json(of: answer, to: options)
    }

    private static func json(of answer: Answer, to options: VerificationOptions) throws -> NSDictionary {
        let reply = PurchaseVerifyEndpoint().replies(to: options, with: answer, at: Samples.now).first
        #expect(reply.status.code == 200)
        return try #require(reply.text.jsonObject)
    }

    private static func expect(_ json: NSDictionary, _ state: String, isValid: Bool) {
        #expect(json["state"] as? String == state && json["isValid"] as? Bool == isValid, "\(json)")
        #expect(json["store"] as? String == "apple")
    }

    @Test func `a subscription has its present state, whatever period was sent`() throws {
        let old = Samples.period("pro", "1", from: -900, to: -100)
        let new = Samples.period("pro", "2", chain: "1", from: -100, to: 700)
        let json = try Self.verified("1", "pro", in: [old, new])
        Self.expect(json, "ENTITLED", isValid: true)
        #expect(json["productId"] as? String == "pro" && json["environment"] as? String == "Sandbox")
        Self.expect(try Self.verified("1", "pro", in: [old]), "EXPIRED", isValid: false)
    }

    @Test func `a copy of a period with another chain has the state of the subscription that Apple knows`() throws {
        let known = Samples.period("pro", "1", from: -900, to: 900) {
            $0.webOrderLineItemID = TransactionContents().webOrderLineItemID
        }
        Self.expect(try Self.verified("8", "pro", in: [known]), "ENTITLED", isValid: true)
        Self.expect(try Self.verified("0", "pro", in: [known]), "ENTITLED", isValid: true)
    }

    @Test func `a restored copy of an item is cancelled with the item`() throws {
        let item = Samples.item("gold", "1", at: -500, revoked: -5)
        let copy = try Self.verified("2", "gold", "Non-Consumable", chain: "1", in: [item])
        Self.expect(copy, "CANCELED", isValid: false)
    }

    @Test func `a grace period is entitled, billing retry is not`() throws {
        let period = Samples.period("pro", "1", from: -900, to: -100)
        for (grace, state) in [(Samples.time(50), "ENTITLED"), (nil, "EXPIRED")] as [(Timestamp?, String)] {
            let plan = Samples.plan("1", "pro") { ($0.isInBillingRetry, $0.gracePeriodExpiresDate) = (true, grace) }
            Self.expect(try Self.verified("1", "pro", in: [period], [plan]), state, isValid: grace != nil)
        }
    }

    @Test func `a revoked subscription is cancelled`() throws {
        let period = Samples.period("pro", "1", from: -900, to: 900) { $0.cancellationDate = Samples.time(-5) }
        Self.expect(try Self.verified("1", "pro", in: [period]), "CANCELED", isValid: false)
    }

    @Test func `after an upgrade the earlier product has expired`() throws {
        let basic = Samples.period("basic", "1", from: -900, to: 900) { $0.isUpgraded = true }
        let pro = Samples.period("pro", "2", chain: "1", from: -100, to: 900)
        Self.expect(try Self.verified("1", "basic", in: [basic, pro]), "EXPIRED", isValid: false)
        Self.expect(try Self.verified("2", "pro", chain: "1", in: [basic, pro]), "ENTITLED", isValid: true)
    }

    @Test(
        arguments: [
            ("Non-Consumable", .nonConsumable, nil, "ENTITLED"), ("Consumable", .consumable, nil, "READY_TO_CONSUME"),
            ("Non-Renewing Subscription", .nonRenewingSubscription, nil, "ENTITLED"),
            ("Non-Consumable", .nonConsumable, -5, "CANCELED"), ("Consumable", .consumable, -5, "CANCELED"),
        ] as [(String, ProductType, Int64?, String)])
    func `other products`(claim: String, type: ProductType, revoked: Int64?, state: String) throws {
        let item = Samples.item("gold", "1", type, at: -500, revoked: revoked)
        Self.expect(try Self.verified("1", "gold", claim, in: [item]), state, isValid: revoked == nil)
    }

    @Test func `a purchase of another product than expected is not authentic`() throws {
        let items = [Samples.item("gold", "1", at: -500)]
        let wrong = try Self.verified("1", "gold", "Non-Consumable", in: items, expecting: "silver")
        Self.expect(wrong, "INAUTHENTIC", isValid: false)
        #expect(wrong["productId"] as? String == "gold")
        let right = try Self.verified("1", "gold", "Non-Consumable", in: items, expecting: "gold")
        Self.expect(right, "ENTITLED", isValid: true)
    }

    @Test(arguments: Rejection.allCases) func `no rejection is valid`(rejection: Rejection) throws {
        let answer = Samples.answer(.rejected(rejection))
        Self.expect(try Self.json(of: answer, to: VerificationOptions()), "INAUTHENTIC", isValid: false)
    }

    @Test func `without a verdict the answer is an error`() {
        let answer = Samples.answer(.undecided(.upstreamDidNotAnswer))
        let reply = PurchaseVerifyEndpoint().replies(to: VerificationOptions(), with: answer, at: Samples.now).first
        #expect(reply.status.code == 503 && reply.text.contains(#""code":"UPSTREAM_DID_NOT_ANSWER""#))
    }
}
