// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Receipts
import Testing

@testable import API
@testable import Gateway
@testable import ServerTestSupport

/// Requests with signed items as they are read, and the JSON of their answers.
@Suite("Signed items at POST /v1/verify")
struct VerdictEndpointTests {
    private typealias Samples = SignedSamples

    // MARK: - Requests

    @Test(
        arguments: [
            (#"{"receipt":"AQID"}"#, .appReceipt([1, 2, 3])),
            (#"{"receipt":"eyJ.b.c"}"#, .jws(Array("eyJ.b.c".utf8))),
            (#"{"receipt":"eyJ\u0068.b\/.c"}"#, .jws(Array("eyJh.b/.c".utf8))),
            (#"{"receipt":" \r\n\teyJ.b.c\n "}"#, .jws(Array("eyJ.b.c".utf8))),
            (#"{"receipt":"eyJ.b .c"}"#, .jws(Array("eyJ.b .c".utf8))),
            (
                #"{"signed_transactions":["a.b.c\n"," d","","\n"],"app_transaction":"\tc"}"#,
                .signedTransactions(
                    SignedTransactions(
                        [Array("a.b.c".utf8), Array("d".utf8), [], []], appTransaction: Array("c".utf8)))
            ),
            (#"{"receipt":"eyJzaWduYXR1cmUi"}"#, .transactionReceipt(Array(#"{"signature""#.utf8))),
            // The base64 of a property list begins with other characters.
            (#"{"receipt":"eyI="}"#, .transactionReceipt([0x7B, 0x22])),
            (
                #"{"signed_transactions":["a.b.c","d"]}"#,
                .signedTransactions(SignedTransactions([Array("a.b.c".utf8), Array("d".utf8)]))
            ),
            (
                #"{"partial":true,"app_transaction":"c","signed_renewal_infos":["b\u002E"],"signed_transactions":["\u0061"]}"#,
                .signedTransactions(
                    SignedTransactions(
                        [Array("a".utf8)], renewalInfos: [Array("b.".utf8)], appTransaction: Array("c".utf8),
                        acceptsPart: true))
            ),
        ] as [(String, Evidence)])
    func `the kind of evidence follows from the field and its first characters`(
        body: String, evidence: Evidence
    ) throws {
        let request = try VerdictEndpoint().request(in: body)
        #expect(request.subject == .evidence(evidence))
        #expect(request.options.itemCount == evidence.itemCount && !request.options.isLookup)
    }

    @Test(arguments: [(#"{"transaction_id":"1"}"#, true), (#"{"signed_transactions":["a"]}"#, false)])
    func `a request without evidence is a look-up`(body: String, isLookup: Bool) throws {
        let request = try VerdictEndpoint().request(in: body)
        #expect(request.options.isLookup == isLookup)
    }

    // MARK: - Answers

    @Test func `an answer has what Apple signed`() throws {
        let json = try Self.answer([
            "signed_transactions": [Samples.text(TransactionContents())],
            "signed_renewal_infos": [Samples.text(Self.renewalInfo)],
            "app_transaction": Samples.text(AppTransactionContents()),
        ])
        let expected = """
            {"verdict":"genuine","environment":"Sandbox",
             "provenance":{"source":"local","cache":"miss","verified_at":"2025-10-09T08:53:30.123Z",
              "verified_at_ms":1760000010123,"degraded":false,"degraded_reasons":[]},
             "bundle_id":"com.example.forge",
             "app_transaction":{"bundle_id":"com.example.forge","app_apple_id":"0","application_version":"42",
              "version_external_identifier":"0","receipt_creation_date":"2025-10-09T08:53:20.123Z",
              "receipt_creation_date_ms":1760000000123,"original_purchase_date":"2013-08-01T07:00:00Z",
              "original_purchase_date_ms":1375340400000,"original_application_version":"1.0",
              "app_transaction_id":"700000000000000001","original_platform":"iOS"},
             "transactions":[{\(Self.transaction)}],
             "subscriptions":[{"state":"active","access_until":"2025-10-09T08:57:20.123Z",
              "access_until_ms":1760000240123,"change":"crossgrade",\(Self.transaction),
              "is_eligible_for_intro_offer":true,"paid_service_days":0,"renewal":{\(Self.renewal)}}]}
            """
        #expect(json == expected.jsonObject)
    }

    @Test(arguments: [false, true])
    func `old periods are left out of the transactions, and not of the receipt`(isExcluding: Bool) throws {
        var contents = Forged.forge.contents
        let start = contents.creationDate
        contents.purchases = ["1", "2"].enumerated().map { index, id in
            let number = Int64(index)
            var period = PurchaseContents(
                productID: "monthly", transactionID: id, purchaseDate: start.advanced(bySeconds: 300 * (number - 1)))
            (period.originalTransactionID, period.expiresDate) = ("1", start.advanced(bySeconds: 300 * number))
            return period
        }
        let text = Data(Forged.pki.sign(contents)).base64EncodedString()
        let body = #"{"receipt":"\#(text)","exclude_old_transactions":\#(isExcluding)}"#
        let request = try VerdictEndpoint().request(in: body)
        let answer = try Forged.service.computed(request, at: start.timestamp.advanced(by: .seconds(10)))
        let replies = VerdictEndpoint().replies(to: request.options, with: answer, at: start.timestamp)
        for reply in [replies.first, replies.repeated] {
            let json = try #require(reply.text.jsonObject)
            func ids(_ list: Any?) -> [String] {
                (list as? [NSDictionary] ?? []).compactMap { $0["transaction_id"] as? String }.sorted()
            }
            #expect(ids((json["receipt"] as? NSDictionary)?["in_app"]) == ["1", "2"])
            #expect(ids(json["transactions"]) == (isExcluding ? ["2"] : ["1", "2"]))
        }
    }

    private static let renewalInfo = {
        var contents = RenewalInfoContents()
        contents.autoRenewProductID = "com.example.forge.yearly"
        contents.priceIncreaseStatus = 0
        contents.eligibleWinBackOfferIDs = ["best", "next"]
        contents.offerType = 4
        contents.offerIdentifier = "best"
        return contents
    }()

    private static let transaction = """
        "quantity":1,"product_id":"com.example.forge.monthly","transaction_id":"2000000900000002",
        "original_transaction_id":"2000000900000001","purchase_date":"2025-10-09T08:52:20.123Z",
        "purchase_date_ms":1759999940123,"original_purchase_date":"2025-10-09T08:47:20.123Z",
        "original_purchase_date_ms":1759999640123,"expires_date":"2025-10-09T08:57:20.123Z",
        "expires_date_ms":1760000240123,"web_order_line_item_id":"2000000090000002","is_trial_period":false,
        "is_in_intro_offer_period":false,"in_app_ownership_type":"PURCHASED",
        "subscription_group_identifier":"20900001","signed_date":"2025-10-09T08:53:20.123Z",
        "signed_date_ms":1760000000123,"storefront":"DEU","storefront_id":"143443","price":4990,"currency":"EUR",
        "app_transaction_id":"700000000000000001","product_type":"auto_renewable_subscription",
        "transaction_reason":"renewal"
        """

    private static let renewal = """
        "product_id":"com.example.forge.monthly","will_renew":true,
        "auto_renew_product_id":"com.example.forge.yearly","price_consent":"pending",
        "signed_date":"2025-10-09T08:53:20.123Z","signed_date_ms":1760000000123,
        "renewal_date":"2025-10-09T08:57:20.123Z","renewal_date_ms":1760000240123,"renewal_price":4990,
        "currency":"EUR","offer_type":"4","offer_identifier":"best",
        "recent_subscription_start_date":"2025-10-09T08:47:20.123Z",
        "recent_subscription_start_date_ms":1759999640123,"eligible_win_back_offer_ids":["best","next"],
        "app_transaction_id":"700000000000000001"
        """

    @Test func `every claim of a transaction and a plan has its member`() throws {
        let json = try Self.answer([
            "signed_transactions": [Samples.text(TransactionContents.complete)],
            "signed_renewal_infos": [Samples.text(RenewalInfoContents.complete)],
        ])
        let transaction = try #require((json["transactions"] as? [NSDictionary])?.first)
        let expected = """
            {"cancellation_date":"2025-10-09T08:52:50.123Z","cancellation_date_ms":1759999970123,
             "cancellation_reason":"1","is_upgraded":true,"promotional_offer_id":"spring.offer",
             "app_account_token":"7e3fb20b-4cdb-47cc-936d-99d65f608138","offer_type":"2",
             "offer_identifier":"spring.offer","offer_discount_type":"PAY_AS_YOU_GO","offer_period":"P1M",
             "revocation_type":"REFUND_PRORATED","revocation_percentage":50000,
             "previous_original_transaction_id":"2000000800000001","billing_plan_type":"MONTHLY",
             "commitment_billing_period_number":1,"commitment_total_billing_periods":12,
             "commitment_expires_date":"2026-10-09T00:00:00Z","commitment_expires_date_ms":1791504000000,
             "commitment_price":59880,
             "advanced_commerce_info":{"items":[{"SKU":"gold","price":4990}],"period":"P1M","taxCode":"C003"}}
            """
        try Self.expect(transaction, has: expected)
        let subscription = try #require((json["subscriptions"] as? [NSDictionary])?.first)
        let plan = """
            {"expiration_intent":"billing_error","is_in_billing_retry_period":true,"price_consent":"given_or_not_needed",
             "grace_period_expires_date_ms":1760000540123,"offer_type":"4","offer_identifier":"winback.half",
             "offer_discount_type":"PAY_UP_FRONT","offer_period":"P3M",
             "eligible_win_back_offer_ids":["winback.half","winback.free"],
             "app_account_token":"7e3fb20b-4cdb-47cc-936d-99d65f608138","renewal_billing_plan_type":"MONTHLY",
             "commitment_auto_renew_product_id":"com.example.forge.yearly","commitment_auto_renew_status":"1",
             "commitment_renewal_date_ms":1791504000000,"commitment_renewal_price":59880,
             "commitment_renewal_billing_plan_type":"MONTHLY",
             "advanced_commerce_info":{"items":[{"SKU":"gold","renewalPrice":4990}],"period":"P1M"}}
            """
        try Self.expect(try #require(subscription["renewal"] as? NSDictionary), has: plan)
    }

    @Test func `unknown claims change nothing, and unknown values are passed on where they are texts`() throws {
        let usual = try Self.answer(["receipt": Samples.text(TransactionContents())])
        let more = TransactionContents().adding(#""futureClaim":{"a":[1,null]},"futureDate":1760000000123"#)
        #expect(try Self.answer(["receipt": Samples.text(more)]) == usual)
        var unknown = TransactionContents()
        (unknown.type, unknown.inAppOwnershipType, unknown.transactionReason) = ("Bundle", "COMPANY", "MIGRATION")
        (unknown.offerType, unknown.offerDiscountType, unknown.billingPlanType) = (99, "PAY_LATER", "DAILY")
        let transactions = try Self.answer(["receipt": Samples.text(unknown)])["transactions"] as? [NSDictionary]
        let transaction = try #require(transactions?.first)
        try Self.expect(
            transaction, has: #"{"offer_type":"99","offer_discount_type":"PAY_LATER","billing_plan_type":"DAILY"}"#)
        #expect(transaction["product_type"] == nil && transaction["in_app_ownership_type"] == nil)
        #expect(transaction["transaction_reason"] as? String == "renewal")
    }

    @Test func `what is unknown is passed on when it is requested`() throws {
        var transaction = TransactionContents().adding(#""futureClaim":{"a":[1.50,null]},"futureDate":1760000000123"#)
        transaction.type = "Bundle"
        transaction.currency = nil
        transaction = transaction.adding(#""currency":7,"commitmentInfo":{"commitmentPrice":1,"futureMember":2}"#)
        var plan = RenewalInfoContents().adding(#""commitmentInfo":{"commitmentRenewalPrice":1}"#)
        plan.expirationIntent = 9
        let members: [String: Any] = [
            "signed_transactions": [Samples.text(transaction)], "signed_renewal_infos": [Samples.text(plan)],
        ]
        #expect(try Self.answer(members)["unknown"] == nil)
        let expected = """
            {"items":[
              {"kind":"transaction","transaction_id":"2000000900000002",
               "claims":{"type":"Bundle","currency":7,"commitmentInfo":{"commitmentPrice":1,"futureMember":2},"futureClaim":{"a":[1.50,null]},"futureDate":1760000000123}},
              {"kind":"renewal_info","original_transaction_id":"2000000900000001","claims":{"expirationIntent":9}}]}
            """
        let answer = try Self.answer(members.merging(["include": ["unknown"]]) { $1 })
        #expect(answer["unknown"] as? NSDictionary == expected.jsonObject)
    }

    @Test(arguments: [1, 2000])
    func `unknown attributes of a receipt are passed on, as many as 64 KiB hold`(_ purchases: Int) throws {
        var contents = Forged.forge.contents
        let first = try #require(contents.purchases.first)
        contents.purchases = (0..<purchases).map { number in
            var purchase = first
            purchase.transactionID = "\(number)"
            return purchase
        }
        let text = Data(Forged.pki.sign(contents)).base64EncodedString()
        let request = try VerdictEndpoint().request(in: #"{"receipt":"\#(text)","include":["unknown"]}"#)
        let now = contents.creationDate.timestamp
        let answer = try Forged.service.computed(request, at: now.advanced(by: .seconds(10)))
        let reply = VerdictEndpoint().replies(to: request.options, with: answer, at: now).first
        let json = try #require(reply.text.jsonObject)
        let unknown = try #require(json["unknown"] as? NSDictionary)
        let item = try #require((unknown["items"] as? [NSDictionary])?.first)
        let attributes = try #require(item["attributes"] as? [NSDictionary])
        #expect(item["kind"] as? String == "app_receipt" && attributes.contains { $0["type"] as? Int == 6 })
        #expect(attributes.allSatisfy { Data(base64Encoded: $0["value"] as? String ?? "?") != nil })
        let size = try JSONSerialization.data(withJSONObject: unknown, options: .sortedKeys).count
        #expect(unknown["is_cut"] as? Bool == (purchases == 1 ? nil : true) && size < 70_000, "\(size) bytes")
        #expect(purchases == 1 || size > 60_000)
    }

    @Test(arguments: UndecidedReason.allCases)
    func `an answer without a verdict says why, and what to do`(reason: UndecidedReason) throws {
        let answer = Answer(
            verdict: .undecided(reason),
            provenance: Provenance(source: .local, cache: .miss, verifiedAt: .now(), degradedReasons: []),
            freshUntil: .now())
        let reply = VerdictEndpoint().replies(to: VerificationOptions(), with: answer, at: .now()).first
        let json = try #require(reply.text.jsonObject)
        let explanation = try #require(json["explanation"] as? String)
        #expect(json["reason"] as? String == reason.rawValue && explanation.hasSuffix("."))
        let advice =
            switch reason {
            case .upstreamNotConfigured: "shared secret or key"
            case .environmentWithoutUpstream, .notCached: "mode `auto`"
            case .upstreamDidNotAnswer: "Retry later"
            }
        #expect(explanation.contains(advice), "\(explanation)")
    }

    @Test(arguments: [false, true])
    func `a bad item is named, and the others are in the answer if wanted`(isPartial: Bool) throws {
        let json = try Self.answer([
            "signed_transactions": [Samples.text(TransactionContents()), "a.b"], "partial": isPartial,
        ])
        try Self.expect(json, has: #"{"verdict":"rejected","reason":"jws_not_compact"}"#)
        let items = """
            {"i":[{"field":"signed_transactions","index":1,"reason":"jws_not_compact",
             "explanation":"\(Rule.jwsNotCompact.explanation)"}]}
            """
        #expect(json["rejected_items"] as? NSArray == items.jsonObject?["i"] as? NSArray)
        #expect((json["transactions"] as? NSArray)?.count == (isPartial ? 1 : 0))
        #expect((json["subscriptions"] as? NSArray)?.count == (isPartial ? 1 : 0))
        #expect((json["environment"] != nil) == isPartial)
    }

    @Test func `a rejected app transaction has no index`() throws {
        let json = try Self.answer([
            "signed_transactions": [Samples.text(TransactionContents())], "app_transaction": "x",
        ])
        let item = try #require((json["rejected_items"] as? [NSDictionary])?.first)
        #expect(item["field"] as? String == "app_transaction" && item["index"] == nil)
    }

    @Test func `an answer sent again differs in its provenance only`() throws {
        let (now, repeated) = try Self.replies([
            "signed_transactions": [Samples.text(TransactionContents()), "a.b"], "partial": true,
        ])
        let changed = now.replacing(#""cache":"miss""#, with: #""cache":"near""#)
        #expect(changed.jsonObject == repeated.jsonObject && changed.jsonObject != nil && changed != now)
    }

    // MARK: - Steps

    private static func answer(_ members: [String: Any]) throws -> NSDictionary {
        try #require(try replies(members).now.jsonObject)
    }

    private static func replies(_ members: [String: Any]) throws -> (now: String, repeated: String) {
        let endpoint = VerdictEndpoint(), request = try endpoint.request(in: Samples.body(members))
        let answer = try Samples.service.computed(request, at: Samples.now)
        let replies = endpoint.replies(to: request.options, with: answer, at: Samples.now)
        return (replies.first.text, replies.repeated.text)
    }

    private static func expect(_ object: NSDictionary, has members: String) throws {
        for (name, value) in try #require(members.jsonObject) {
            #expect(object[name] as? NSObject == value as? NSObject, "\(name)")
        }
    }
}
