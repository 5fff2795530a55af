// SPDX-License-Identifier: Apache-2.0

import AppStore
import Cryptography
import HTTPTypes
import JSON
import NIOHTTP1
import Testing

@testable import API
@testable import Clients
@testable import HTTPServer
@testable import Receipts
@testable import ServerTestSupport

@Suite("POST /v1/apple/{bundle_id}/signatures/{kind}")
struct SignatureRouteTests {
    private typealias Site = SignatureSite
    private static let offer = #"{"product_id":"monthly","offer_identifier":"comeback"}"#
    private static let boundOffer =
        #"{"product_id":"monthly","offer_identifier":"comeback","transaction_id":"\#(Site.customer)"}"#
    private static let introductory =
        #"{"product_id":"monthly","allow_introductory_offer":true,"transaction_id":"\#(Site.customer)"}"#
    private static let commerce = commerce(#""item":{"SKU":"course-1","price":4990}"#)

    private static func commerce(_ members: String) -> String {
        """
        {"operation":"CREATE_ONE_TIME_CHARGE","version":"1",\
        "requestInfo":{"requestReferenceId":"6d3f2b0e-7c0e-4c57-9a8e-0c6a1f9f1a10"},\(members)}
        """
    }

    // MARK: - Signatures

    @Test(
        arguments: [
            (
                "promotional-offer", boundOffer,
                #""productId":"monthly","offerIdentifier":"comeback","transactionId":"\#(Site.customer)""#
            ),
            ("promotional-offer", offer, #""productId":"monthly","offerIdentifier":"comeback""#),
            (
                "introductory-offer-eligibility", introductory,
                #""productId":"monthly","allowIntroductoryOffer":true,"transactionId":"\#(Site.customer)""#
            ),
        ])
    func `a JWS has the claims of its kind and no others`(kind: String, body: String, claims: String) async throws {
        let site = try Site(), reply = try await site.sign(kind, body)
        #expect(reply.status == .ok && reply.fields[.cacheControl] == "no-store")
        #expect(reply.fields[.contentType] == "application/json")
        let signed = try SignedClaims(reply)
        #expect(signed.header == #"{"alg":"ES256","kid":"\#(ServerAPIKeyFixture.keyID)","typ":"JWT"}"#)
        let nonce = try #require(signed.json["nonce"]?.string)
        #expect(
            signed.text == """
                {\(claims),"bid":"\(Site.app)","iss":"\(ServerAPIKeyFixture.issuerID)","aud":"\(kind)",\
                "iat":1790000000,"nonce":"\(nonce)"}
                """)
        #expect(site.count(kind, "signed") == 1 && site.count(kind, "refused") == 0)
    }

    @Test func `a request of Advanced Commerce is signed as it was sent`() async throws {
        let sent = Self.commerce(#" "item" : {"SKU":"course-1"}, "new": [1.50, "\u00fc"] "#)
        let signed = try SignedClaims(try await Site().sign("advanced-commerce-api", sent))
        let request = try #require(signed.json["request"]?.string)
        #expect(request.utf8.count.isMultiple(of: 4))
        #expect(String(decoding: try Base64.decode(request), as: UTF8.self) == sent)
        #expect(signed.json["aud"]?.string == "advanced-commerce-api" && signed.json.members?.count == 6)
    }

    @Test func `the original signature comes with the values that StoreKit needs, and verifies`() async throws {
        let body = """
            {"product_id":"monthly","offer_identifier":"comeback",\
            "app_account_token":"6D3F2B0E-7C0E-4C57-9A8E-0C6A1F9F1A10"}
            """
        let reply = try await Site().sign("original-promotional-offer", body)
        #expect(reply.status == .ok && reply.fields[.cacheControl] == "no-store")
        let json = try JSONValue(parsing: Array(reply.text.utf8))
        #expect(json.members?.map { "\($0.name)" } == ["key_id", "nonce", "timestamp", "signature"])
        let keyID = ServerAPIKeyFixture.keyID, nonce = try #require(json["nonce"]?.string)
        #expect(json["key_id"]?.string == keyID && json["timestamp"]?.number?.integer == 1_790_000_000_123)
        let parts = [
            Site.app, keyID, "monthly", "comeback", "6d3f2b0e-7c0e-4c57-9a8e-0c6a1f9f1a10", nonce, "1790000000123",
        ]
        let message = Array(parts.joined(separator: "\u{2063}").utf8)
        let der = try Base64.decode(try #require(json["signature"]?.string))
        let point = ServerAPIKeyFixture.key.privateKey.publicPoint
        let found = PublicKey(point: point.span, on: .p256), publicKey = try #require(found)
        let isSigned = try publicKey.verifies(der.span, over: message.span, .ecdsaWithSHA256)
        #expect(isSigned)
    }

    @Test func `no nonce is used twice`() async throws {
        let site = try Site()
        var nonces: Set<String> = []
        for _ in 0..<16 {
            let signed = try SignedClaims(try await site.sign("promotional-offer", Self.offer))
            nonces.insert(try #require(signed.json["nonce"]?.string))
        }
        #expect(nonces.count == 16)
    }

    @Test func `an app's own key signs for it`() async throws {
        let key = ServerAPIKey(
            issuerID: "69a6de70-0000-47e3-e053-5b8c7c11a4d1", keyID: "7QK2T9B5XW",
            privateKey: try #require(.init(pem: Array(ServerAPIKeyFixture.pem(9).utf8))))
        let site = try Site(keys: ServerAPIKeys(account: ServerAPIKeyFixture.key, ofApps: [Site.app: key]))
        let signed = try SignedClaims(try await site.sign("promotional-offer", Self.offer), key: key)
        #expect(signed.header.contains(key.keyID) && signed.json["iss"]?.string == key.issuerID)
    }

    // MARK: - The log

    @Test(
        arguments: [
            (
                "promotional-offer", boundOffer,
                [#""product_id":"monthly""#, #""offer_identifier":"comeback""#, #""bound":true"#]
            ),
            ("promotional-offer", offer, [#""bound":false"#]),
            ("introductory-offer-eligibility", introductory, [#""product_id":"monthly""#, #""eligible":true"#]),
            ("original-promotional-offer", offer, [#""offer_identifier":"comeback""#, #""bound":false"#]),
            (
                "advanced-commerce-api", commerce,
                [#""operation":"CREATE_ONE_TIME_CHARGE""#, #""skus":["course-1"]"#]
            ),
        ] as [(String, String, [String])])
    func `each signature is one line of the log, without the customer`(
        kind: String, body: String, members: [String]
    ) async throws {
        let site = try Site(), reply = try await site.sign(kind, body)
        #expect(reply.status == .ok && site.audit.count == 1)
        let line = site.audit.first ?? ""
        for member in [#""client":"shop""#, #""bundle_id":"\#(Site.app)""#, #""kind":"\#(kind)""#] + members {
            #expect(line.contains(member), "\(member) \(line)")
        }
        for secret in [Site.customer, "eyJ", "6d3f2b0e", "nonce"] { #expect(site.log.containing(secret).isEmpty) }
    }

    @Test func `a line names ten SKUs at most`() async throws {
        let scope = "{\(Site.app): {advanced_commerce: '*'}}"
        let site = try Site(client: try Site.client(signatures: scope))
        let items = (10..<30).map { #"{"SKU":"s\#($0)"}"# }.joined(separator: ",")
        #expect(try await site.sign("advanced-commerce-api", Self.commerce(#""items":[\#(items)]"#)).status == .ok)
        #expect(site.audit.count == 1 && site.audit[0].contains(#""s19"]"#) && !site.audit[0].contains("s20"))
    }

    // MARK: - Refusals

    @Test(
        arguments: [
            (
                "promotional-offer", #"{"product_id":"yearly","offer_identifier":"comeback"}"#,
                "the offer comeback of the product yearly in promotional_offers"
            ),
            (
                "promotional-offer", #"{"product_id":"weekly","offer_identifier":"spring"}"#,
                "the product weekly in promotional_offers"
            ),
            (
                "promotional-offer", #"{"product_id":"Monthly","offer_identifier":"comeback"}"#,
                "the product Monthly in promotional_offers"
            ),
            (
                "original-promotional-offer", #"{"product_id":"yearly","offer_identifier":"comeback"}"#,
                "the offer comeback of the product yearly in promotional_offers"
            ),
            (
                "introductory-offer-eligibility",
                #"{"product_id":"yearly","allow_introductory_offer":false,"transaction_id":"7"}"#,
                "the product yearly in introductory_offers"
            ),
            (
                "advanced-commerce-api", commerce(#""item":{"SKU":"course-3"}"#),
                "the SKU course-3 in advanced_commerce"
            ),
            (
                "advanced-commerce-api",
                commerce(#""items":[{"SKU":"course-1"},{"SKU":"course-4"},{"SKU":"course-3"}]"#),
                "the SKU course-3 in advanced_commerce"
            ),
            (
                "advanced-commerce-api", commerce(#""changeItems":[{"SKU":"course-1","currentSKU":"course-3"}]"#),
                "the SKU course-3 in advanced_commerce"
            ),
            // Not plain.
            (
                "advanced-commerce-api", commerce(#""item":{"SKU":"course 3"}"#),
                "lack the SKU in advanced_commerce"
            ),
            // What it is about is unknown.
            (
                "advanced-commerce-api", commerce(#""transactionId":"7""#),
                #"\"*\" in advanced_commerce: the request names no SKU"#
            ),
        ])
    func `what the client's list does not have is 403, which names it, and is counted`(
        kind: String, body: String, gap: String
    ) async throws {
        let site = try Site(), reply = try await site.sign(kind, body)
        #expect(reply.status == .forbidden && reply.code == "operation_not_permitted", "\(reply.text)")
        #expect(reply.text.contains("signatures in the clients file lack") && reply.text.contains(gap), "\(reply.text)")
        #expect(site.audit.isEmpty && site.count(kind, "refused") == 1 && site.count(kind, "signed") == 0)
    }

    @Test func `a list is for one app`() async throws {
        let reply = try await Site().sign("promotional-offer", Self.offer, app: "com.example.other")
        #expect(reply.status == .forbidden && reply.code == "operation_not_permitted")
    }

    @Test func `the app of another client is 403`() async throws {
        let reply = try await Site().sign("promotional-offer", Self.offer, app: "com.example.foreign")
        #expect(reply.status == .forbidden && reply.code == "app_not_permitted")
    }

    @Test func `a list without the right signs nothing`() async throws {
        let listed = try Site.client()
        let client = Client(
            name: "shop", apps: listed.apps, keys: [], may: [.purge, .erase, .ownership, .trace],
            apple: .everyApp(Set(Client.AppleRight.allCases)), signatures: listed.signatures)
        let site = try Site(client: client)
        let reply = try await site.sign("promotional-offer", Self.offer)
        #expect(reply.status == .forbidden && reply.code == "operation_not_permitted" && site.audit.isEmpty)
        #expect(reply.text.contains(#"the right \"sign\""#) && site.count("promotional-offer", "refused") == 1)
    }

    @Test func `the client of a gateway without clients has nothing signed`() async throws {
        let site = try Site(client: .loopback)
        let reply = try await site.sign("promotional-offer", Self.offer)
        #expect(reply.status == .forbidden && reply.code == "operation_not_permitted" && site.audit.isEmpty)
    }

    @Test func `without a key for the app a request is 422`() async throws {
        let site = try Site(keys: ServerAPIKeys(ofApps: ["com.example.other": ServerAPIKeyFixture.key]))
        let reply = try await site.sign("promotional-offer", Self.offer)
        #expect(reply.status == .unprocessableContent && reply.code == "server_api_not_configured")
        #expect(site.audit.isEmpty)
    }

    @Test func `a request has the limits of other requests, also one that is wrong`() async throws {
        let site = try Site(client: try Site.client(limits: "[{name: hour, quota: 2, window: 1h}]"))
        #expect(try await site.sign("promotional-offer", Self.offer).status == .ok)
        #expect(try await site.sign("promotional-offer", "{}").status == .badRequest)
        let refused = try await site.sign("promotional-offer", Self.offer)
        #expect(refused.status == .tooManyRequests && refused.code == "quota_exceeded" && site.audit.count == 1)
    }

    @Test(arguments: ["", "promotional", "promotional-offer-v2", "Promotional-Offer", "promotional%2Doffer"])
    func `an unknown kind is 404, and the answer names the kinds`(kind: String) async throws {
        let reply = try await Site().sign(kind, Self.offer)
        #expect(reply.status == .notFound && reply.text.contains("advanced-commerce-api"), "\(reply.text)")
    }

    @Test(arguments: ["/signatures/promotional-offer", ".a/signatures/promotional-offer", "a%2Fb/signatures/x"])
    func `a path without a bundle ID is 404`(path: String) async throws {
        #expect(try await Site().send(to: path, Self.offer).status == .notFound)
    }

    @Test func `another method is 405, another media type 415`() async throws {
        let site = try Site(), path = "\(Site.app)/signatures/promotional-offer"
        #expect(try await site.send(to: path, Self.offer, contentType: "text/plain").status == .unsupportedMediaType)
        let reply = try await site.send(to: path, "", method: .GET)
        #expect(reply.status == .methodNotAllowed && reply.fields[.allow] == "POST, OPTIONS")
    }

    @Test(
        arguments: [
            ("promotional-offer", "", "empty_body", nil), ("promotional-offer", "[]", "not_an_object", nil),
            ("promotional-offer", "[\(offer),\(offer)]", "not_an_object", nil),
            ("promotional-offer", "{}", "missing_field", "product_id"),
            ("promotional-offer", #"{"product_id":"monthly"}"#, "missing_field", "offer_identifier"),
            (
                "promotional-offer", #"{"product_id":["monthly"],"offer_identifier":"comeback"}"#, "wrong_type",
                "product_id"
            ),
            (
                "promotional-offer", #"{"product_id":"","offer_identifier":"comeback"}"#, "value_not_accepted",
                "product_id"
            ),
            (
                "promotional-offer", #"{"product_id":"monthly","offer_identifier":"come\u2063back"}"#,
                "value_not_accepted", "offer_identifier"
            ),
            (
                "promotional-offer",
                #"{"product_id":"monthly","offer_identifier":"comeback","transaction_id":null}"#, "wrong_type",
                "transaction_id"
            ),
            (
                "promotional-offer",
                #"{"product_id":"monthly","offer_identifier":"comeback","transaction_id":"7 8"}"#,
                "value_not_accepted", "transaction_id"
            ),
            // A field of another kind.
            (
                "promotional-offer",
                #"{"product_id":"monthly","offer_identifier":"comeback","app_account_token":"7"}"#, "unknown_field",
                "app_account_token"
            ),
            (
                "introductory-offer-eligibility", #"{"product_id":"monthly","transaction_id":"7"}"#, "missing_field",
                "allow_introductory_offer"
            ),
            (
                "introductory-offer-eligibility", #"{"product_id":"monthly","allow_introductory_offer":true}"#,
                "missing_field", "transaction_id"
            ),
            (
                "introductory-offer-eligibility",
                #"{"product_id":"monthly","allow_introductory_offer":"true","transaction_id":"7"}"#, "wrong_type",
                "allow_introductory_offer"
            ),
            (
                "original-promotional-offer",
                #"{"product_id":"monthly","offer_identifier":"comeback","app_account_token":"user"}"#,
                "value_not_accepted", "app_account_token"
            ),
            (
                "original-promotional-offer",
                #"{"product_id":"monthly","offer_identifier":"comeback","application_username":"User"}"#,
                "value_not_accepted", "application_username"
            ),
            (
                "original-promotional-offer",
                #"{"product_id":"monthly","offer_identifier":"comeback","application_username":"a\u2063b"}"#,
                "value_not_accepted", "application_username"
            ),
            (
                "original-promotional-offer",
                """
                {"product_id":"monthly","offer_identifier":"comeback","application_username":"user",\
                "app_account_token":"6d3f2b0e-7c0e-4c57-9a8e-0c6a1f9f1a10"}
                """, "value_not_accepted", "application_username"
            ),
            ("advanced-commerce-api", #"{"operation":"REFUND"}"#, "value_not_accepted", "operation"),
        ] as [(String, String, String, String?)])
    func `a faulty body is 400 with its field, and signs nothing`(
        kind: String, body: String, fault: String, field: String?
    ) async throws {
        let site = try Site(), reply = try await site.sign(kind, body)
        #expect(reply.status == .badRequest && reply.code == "invalid_body", "\(reply.text)")
        #expect(reply.text.contains(#""fault":"\#(fault)""#), "\(reply.text)")
        if let field { #expect(reply.text.contains(#""field":"\#(field)""#), "\(reply.text)") }
        #expect(site.audit.isEmpty && site.count(kind, "signed") == 0)
    }
}
