// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import ReceiptForge
import Receipts
import Resilience
import Testing

@testable import API
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport

/// The answers of `POST /v1/validate`, as cordova-plugin-purchase reads them.
struct ValidatedPurchasesTests {
    private typealias Samples = PluginSamples

    // MARK: - Ownership

    @Test func `a refunded purchase is not owned, although the plugin ignores the reason`() throws {
        let payload = try Samples.validated(
            Samples.answer([
                Samples.item("gold", "1", at: -500, revoked: -10), Samples.item("silver", "2", at: -500),
            ]))
        #expect(!payload.owns("gold") && payload.owns("silver"))
        let gold = try payload.purchase("gold"), silver = try payload.purchase("silver")
        #expect(gold["isExpired"] as? Bool == true && gold["cancelationReason"] as? String == "Customer")
        #expect(silver["isExpired"] as? Bool == false && silver["cancelationReason"] as? String == "")
    }

    @Test(
        arguments: [
            (1, .purchased, "Customer.TechnicalIssues"), (0, .purchased, "Customer.OtherReason"),
            (nil, .purchased, "Customer"), (0, .familyShared, "Unknown"),
        ] as [(Int64?, Transaction.Ownership, String)])
    func `Apple's reasons have the plugin's names`(
        reason: Int64?, ownership: Transaction.Ownership, name: String
    ) throws {
        var item = Samples.item("gold", "1", at: -500, revoked: -10)
        (item.cancellationReason, item.ownership) = (reason, ownership)
        let gold = try Samples.validated(Samples.answer([item])).purchase("gold")
        #expect(gold["cancelationReason"] as? String == name)
    }

    @Test func `the refund of a later copy does not hide a purchase`() throws {
        let payload = try Samples.validated(
            Samples.answer([Samples.item("gold", "1", at: -500), Samples.item("gold", "2", at: -50, revoked: -10)]))
        #expect(payload.owns("gold"))
        #expect(try payload.purchase("gold")["transactionId"] as? String == "1")
    }

    @Test func `each consumable is there`() throws {
        let payload = try Samples.validated(
            Samples.answer([
                Samples.item("coins", "1", .consumable, at: -500),
                Samples.item("coins", "2", .consumable, at: -50, revoked: -10),
            ]))
        let expired = payload.purchases(of: "coins").map { $0["isExpired"] as? Bool }
        #expect(expired == [false, true])
    }

    @Test func `in a grace period the expiry date is the end of the access`() throws {
        let period = Samples.period("pro", "1", from: -1000, to: -10)
        let plan = Samples.plan("1", "pro") {
            ($0.isInBillingRetry, $0.gracePeriodExpiresDate) = (true, Samples.time(600))
        }
        let payload = try Samples.validated(Samples.answer([period], [plan]))
        let pro = try payload.purchase("pro")
        #expect((pro["expiryDate"] as? NSNumber)?.int64Value == Samples.milliseconds(600))
        #expect(pro["isBillingRetryPeriod"] as? Bool == true && pro["isExpired"] as? Bool == false)
        #expect(payload.owns("pro") && !payload.owns("pro", at: Samples.time(601)))
        let later = try Samples.answer([period], [plan], at: Samples.time(700))
        let retry = try Samples.validated(later, at: Samples.time(700))
        #expect(!retry.owns("pro", at: Samples.time(700)))
        #expect(try retry.purchase("pro")["cancelationReason"] as? String == "System.BillingError")
    }

    @Test func `an active subscription is not hidden by a later purchase that ended`() throws {
        let payload = try Samples.validated(
            Samples.answer([
                Samples.period("pro", "1", from: -9000, to: 500), Samples.period("pro", "2", from: -5000, to: -4000),
            ]))
        #expect(payload.owns("pro"))
        #expect(try payload.purchase("pro")["purchaseId"] as? String == "1")
    }

    @Test func `after an upgrade only the better product is owned`() throws {
        let payload = try Samples.validated(
            Samples.answer([
                Samples.period("basic", "1", from: -900, to: 900) { $0.isUpgraded = true },
                Samples.period("pro", "2", chain: "1", from: -100, to: 900),
            ]))
        #expect(payload.owns("pro") && !payload.owns("basic"))
    }

    @Test func `a commitment that will end is no intent to renew`() throws {
        let month = Samples.period("pro", "1", from: -100, to: 700) {
            var fields = SignedTransactionFields()
            fields.billingPlanType = "MONTHLY"
            $0.signedFields = .value(fields)
        }
        let plan = Samples.plan("1", "pro") {
            var fields = SignedRenewalFields()
            fields.commitmentAutoRenewStatus = 0
            $0.signedFields = .value(fields)
        }
        let pro = try Samples.validated(Samples.answer([month], [plan])).purchase("pro")
        #expect(pro["renewalIntent"] as? String == "Lapse")
    }

    // MARK: - Fields

    @Test func `a renewed subscription has all fields, with dates as numbers`() throws {
        let first = Samples.period("pro", "1", from: -900, to: -100) {
            ($0.isTrialPeriod, $0.isInIntroOfferPeriod) = (true, false)
        }
        let renewal = Samples.period("pro", "2", chain: "1", from: -100, to: 700) {
            ($0.originalPurchaseDate, $0.quantity, $0.promotionalOfferID) = (Samples.time(-900), 1, "spring")
            ($0.isTrialPeriod, $0.isInIntroOfferPeriod) = (false, true)
        }
        let plan = Samples.plan("1", "pro") { ($0.willRenew, $0.priceConsent) = (false, .pending) }
        let pro = try Samples.validated(Samples.answer([first, renewal], [plan])).purchase("pro")
        let expected = """
            {"id":"pro","platform":"ios-appstore","purchaseId":"1","transactionId":"2",
             "purchaseDate":\(Samples.milliseconds(-900)),"quantity":1,"lastRenewalDate":\(Samples.milliseconds(-100)),
             "expiryDate":\(Samples.milliseconds(700)),"isExpired":false,"renewalIntent":"Lapse","cancelationReason":"",
             "isTrialPeriod":false,"isIntroPeriod":true,"discountId":"spring","priceConsentStatus":"Notified"}
            """
        #expect(NSDictionary(dictionary: pro) == expected.jsonObject)
    }

    @Test(
        arguments: zip(
            [nil] + Renewal.ExpirationIntent.allCases.map(Optional.some),
            [
                "Unknown", "Customer", "System.BillingError", "Customer.PriceIncrease", "System.ProductUnavailable",
                "Unknown",
            ]))
    func `the end of a subscription has a reason`(intent: Renewal.ExpirationIntent?, name: String) throws {
        let plan = Samples.plan("1", "pro") { ($0.willRenew, $0.expirationIntent) = (false, intent) }
        let answer = try Samples.answer([Samples.period("pro", "1", from: -9000, to: -5000)], [plan])
        let payload = try Samples.validated(answer), pro = try payload.purchase("pro")
        #expect(pro["cancelationReason"] as? String == name && pro["isExpired"] as? Bool == true)
        #expect(!payload.owns("pro"))
    }

    @Test func `a used introductory offer excludes the products of a chain that Apple renamed`() throws {
        let trial = Samples.period("basic", "1", from: -9000, to: -5000) { $0.isTrialPeriod = true }
        let renamed = Samples.period("pro", "2", chain: "8", from: -5000, to: 900) {
            var fields = SignedTransactionFields()
            fields.previousOriginalTransactionID = "1"
            $0.signedFields = .value(fields)
        }
        let products = try Samples.validated(Samples.answer([trial, renamed])).data["ineligible_for_intro_price"]
        #expect(products as? [String] == ["basic", "pro"])
    }

    @Test func `a used introductory offer excludes the products of its group`() throws {
        func period(_ product: String, _ id: String, group: String, intro: Bool) -> Transaction {
            Samples.period(product, id, from: -9000, to: -5000) {
                ($0.subscriptionGroupID, $0.isInIntroOfferPeriod, $0.isTrialPeriod) = (group, intro, false)
            }
        }
        let answer = try Samples.answer([
            period("basic", "1", group: "a", intro: true), period("pro", "2", group: "a", intro: false),
            period("news", "3", group: "b", intro: false), Samples.item("gold", "4", at: -10),
        ])
        let products = try Samples.validated(answer).data["ineligible_for_intro_price"] as? [String]
        #expect(products == ["basic", "pro"])
    }

    @Test(arguments: [Int64(0), 120, 999]) func `the date has a fraction of a second`(milliseconds: Int64) throws {
        let date = Timestamp(millisecondsSince1970: 1_760_000_000_000 + milliseconds)
        let answer = try Samples.answer([])
        let dated = Answer(
            verdict: .genuine, subject: answer.subject,
            provenance: Provenance(source: .serverAPI, cache: .miss, verifiedAt: date), freshUntil: date)
        let fraction = String("00\(milliseconds)".suffix(3))
        #expect(try Samples.validated(dated).data["date"] as? String == "2025-10-09T08:53:20.\(fraction)Z")
    }

    // MARK: - The collection and its name

    @Test func `Apple's history has the name of the app`() throws {
        let payload = try Samples.validated(Samples.answer([Samples.item("gold", "1", at: -10)]))
        #expect(payload.id == Samples.bundleID && payload.data["warning"] == nil)
        #expect(payload.data["latest_receipt"] as? Bool == true)
    }

    /// The plugin replaces the collection of an answer with the same name. So a purchase that is known alone must not have
    /// the name of another purchase, nor of the history.
    @Test(arguments: [Provenance.Source.local, .notification])
    func `a purchase that is known alone has a collection of its own, and a warning`(source: Provenance.Source) throws {
        let payloads = try ["11", "12"].map { chain in
            var contents = TransactionContents()
            (contents.transactionID, contents.originalTransactionID) = ("\(chain)0", chain)
            return try Samples.validated(
                Samples.answer([Samples.period("pro", chain, from: -9, to: 9)], from: source, sent: contents))
        }
        #expect(payloads.map(\.id) == ["com.example.forge.11", "com.example.forge.12"])
        #expect(payloads.allSatisfy { $0.owns("pro") && ($0.data["warning"] as? String)?.isEmpty == false })
        let transaction = payloads[0].data["transaction"] as? [String: Any]
        #expect(transaction?["type"] as? String == "apple-sk2" && transaction?["transactionId"] as? String == "110")
    }

    /// The plugin keeps the collection of a purchase that was known alone beside the history that comes later.
    @Test(arguments: [false, true])
    func `the history outweighs a purchase that is known alone`(historyIsFirst: Bool) throws {
        var contents = TransactionContents()
        (contents.transactionID, contents.originalTransactionID) = ("10", "1")
        let period = Samples.period("pro", "1", from: -900, to: -10), before = Samples.time(-20)
        let renewal = Samples.period("pro", "2", chain: "1", from: -10, to: 900) {
            $0.originalPurchaseDate = period.originalPurchaseDate
        }
        let alone = try Samples.validated(
            Samples.answer(
                [period, Samples.item("gold", "3", at: -500)], from: .local, sent: contents, at: before), at: before)
        #expect(alone.owns("pro", at: before) && alone.owns("gold", at: before))
        let history = try Samples.validated(
            Samples.answer([period, renewal, Samples.item("gold", "3", at: -500, revoked: -5)]))
        let held = HeldPayloads(historyIsFirst ? [history, alone] : [alone, history])
        #expect(alone.id != history.id && held.owns("pro") && !held.owns("gold"))
    }

    @Test(arguments: [DegradedReason.upstreamTimeout, .upstreamItemUnreadable])
    func `an earlier history takes no later purchase from the customer`(reason: DegradedReason) throws {
        var contents = TransactionContents()
        (contents.transactionID, contents.originalTransactionID) = ("1", "1")
        let pro = Samples.period("pro", "1", from: -900, to: 900), gold = Samples.item("gold", "3", at: -5)
        let history = try Samples.validated(Samples.answer([pro, gold], sent: contents))
        let earlier = try Samples.validated(Samples.answer([pro], degradedBecause: [reason], sent: contents))
        #expect(earlier.id == "com.example.forge.1.history" && earlier.owns("pro"))
        #expect((earlier.data["warning"] as? String)?.contains("earlier") == true)
        let held = HeldPayloads([history, earlier])
        #expect(held.owns("pro") && held.owns("gold"))
        // Nor does the purchase alone, once nothing is cached, take the history away.
        let alone = try Samples.validated(Samples.answer([pro], from: .local, sent: contents))
        #expect(alone.id != earlier.id && alone.data["warning"] as? String != earlier.data["warning"] as? String)
        // Apple's next history corrects it.
        let refunded = Samples.period("pro", "1", from: -900, to: 900) { $0.cancellationDate = Samples.time(-1) }
        let corrected = try Samples.validated(Samples.answer([refunded, gold], sent: contents))
        #expect(!HeldPayloads([earlier, corrected]).owns("pro") && !HeldPayloads([alone, corrected]).owns("pro"))
    }

    /// The plugin still holds the history of the earlier period.
    @Test(arguments: [Provenance.Source.local, .serverAPI])
    func `a renewal while Apple fails counts, and so does Apple's next history`(source: Provenance.Source) throws {
        let day: Int64 = 86_400
        func period(_ number: Int64, revoked: Bool = false) -> Transaction {
            Samples.period("pro", "\(number)", chain: "1", from: (number - 3) * day - 9, to: (number - 2) * day - 9) {
                $0.originalPurchaseDate = Samples.time(-2 * day - 9)
                if revoked { $0.cancellationDate = Samples.now }
            }
        }
        func validated(_ periods: [Transaction], _ moment: Timestamp, _ reasons: [DegradedReason] = []) throws
            -> ValidatedPayload
        {
            let source = reasons.isEmpty ? .serverAPI : source
            let answer = try Samples.answer(periods, from: source, degradedBecause: reasons, at: moment)
            return try Samples.validated(answer, at: moment)
        }
        let before = Samples.time(-10), after = Samples.time(day)
        let old = try validated([period(1), period(2)], before)
        #expect(old.owns("pro", at: before) && !old.owns("pro"))
        let renewed = try validated([period(2), period(3)], Samples.now, [.upstreamTimeout])
        #expect(HeldPayloads([old, renewed]).owns("pro"))
        let refunded = try validated([period(2), period(3, revoked: true)], Samples.now)
        #expect(!HeldPayloads([refunded, renewed]).owns("pro"))
        let next = try validated([period(3), period(4)], after)
        #expect(HeldPayloads([next, renewed]).owns("pro", at: after))
        let first = (try old.purchase("pro")["purchaseDate"] as? NSNumber)?.int64Value
        #expect(first == Samples.milliseconds(-2 * day - 9) + 4)
    }

    /// The plugin still holds Apple's history of the same period.
    @Test(arguments: [Provenance.Source.local, .serverAPI])
    func `a refund and an extension that the posted purchase shows count while Apple fails`(
        source: Provenance.Source
    ) throws {
        func held(_ known: Transaction, _ posted: Transaction) throws -> HeldPayloads {
            HeldPayloads([
                try Samples.validated(Samples.answer([known])),
                try Samples.validated(Samples.answer([posted], from: source, degradedBecause: [.upstreamTimeout])),
            ])
        }
        func period(to end: Int64, _ change: (inout Transaction) -> Void = { _ in }) -> Transaction {
            Samples.period("pro", "1", from: -900, to: end, change)
        }
        #expect(try !held(period(to: 900), period(to: 900) { $0.cancellationDate = Samples.time(-1) }).owns("pro"))
        #expect(try held(period(to: -10), period(to: 2 * 86_400)).owns("pro"))
        let gold = Samples.item("gold", "1", at: -500), refunded = Samples.item("gold", "1", at: -500, revoked: -10)
        #expect(try !held(gold, refunded).owns("gold"))
    }

    @Test func `a receipt while Apple fails takes no later purchase from the customer`() throws {
        let moment = Forged.forge.contents.creationDate.timestamp.advanced(by: .seconds(10))
        let body = try SignedSamples.body([
            "id": Forged.forge.contents.bundleID, "type": "application",
            "transaction": [
                "type": "ios-appstore", "appStoreReceipt": Data(Forged.receipts(1)[0]).base64EncodedString(),
            ],
        ])
        let answer = try Forged.service.computed(ValidateEndpoint().request(in: body), at: moment)
        let failed = Answer(
            verdict: answer.verdict, subject: answer.subject,
            provenance: Provenance(
                source: .local, cache: .miss, verifiedAt: moment, degradedReasons: [.upstreamTimeout]),
            freshUntil: moment)
        let payload = try Samples.validated(failed, at: moment)
        #expect(payload.id == "\(Forged.forge.contents.bundleID).app.history" && payload.data["warning"] != nil)
    }

    @Test func `an answer without a purchase replaces no other`() throws {
        let payload = try Samples.validated(Samples.answer([], from: .local, sent: AppTransactionContents()))
        #expect(payload.id == "com.example.forge.app" && payload.collection.isEmpty)
    }

    @Test func `a receipt has all purchases, and the date of the first download`() throws {
        var contents = Forged.forge.contents
        var gold = PurchaseContents(productID: "gold", transactionID: "1", purchaseDate: contents.creationDate)
        gold.productType = .nonConsumable
        contents.purchases = [gold]
        let body = try SignedSamples.body([
            "id": contents.bundleID, "type": "application",
            "transaction": [
                "type": "ios-appstore", "appStoreReceipt": Data(Forged.pki.sign(contents)).base64EncodedString(),
            ],
        ])
        let moment = contents.creationDate.timestamp.advanced(by: .seconds(10))
        let request = try ValidateEndpoint().request(in: body)
        let answer = try Forged.service.computed(request, at: moment)
        #expect(!request.options.wantsHistory && request.options.account == nil)
        let payload = try Samples.validated(answer, at: moment)
        #expect(payload.id == contents.bundleID && payload.data["warning"] == nil, "\(payload.json)")
        #expect(payload.owns("gold", at: moment), "\(payload.json)")
        let transaction = try #require(payload.data["transaction"] as? [String: Any])
        #expect(transaction["type"] as? String == "ios-appstore")
        #expect(transaction["original_application_version"] as? String == contents.originalApplicationVersion)
        let downloaded = contents.originalPurchaseDate.secondsSince1970 * 1000
        #expect(transaction["original_purchase_date_ms"] as? String == String(downloaded))
    }

    // MARK: - Rejections

    @Test(arguments: Rejection.allCases.map(Verdict.rejected) + UndecidedReason.allCases.map(Verdict.undecided))
    func `no verdict but genuine is ok, and each says why in both places`(verdict: Verdict) throws {
        let payload = try Samples.validated(Samples.answer(verdict))
        let code = if case .rejected = verdict { 6_778_001 } else { 6_778_002 }
        #expect(!payload.isOK && payload.json["code"] as? Int == code && payload.data["code"] as? Int == code)
        let message = payload.json["message"] as? String
        #expect(message == verdict.explanation)
        #expect((payload.data["error"] as? [String: Any])?["message"] as? String == message)
    }
}
