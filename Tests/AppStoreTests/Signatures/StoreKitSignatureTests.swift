// SPDX-License-Identifier: Apache-2.0

import Cryptography
import JSON
import Testing

@testable import AppStore
@testable import Receipts

@Suite("Signatures for requests to StoreKit")
struct StoreKitSignatureTests {
    private static let app = "com.example.shop"
    private static let nonce = "20fba8a0-2b80-4a7d-a17f-85c1854727f8"
    private static let now = Timestamp(millisecondsSince1970: 1_698_148_900_123)
    private static let customer = "2000000123456789"
    private static let key = ServerAPIKey(
        issuerID: "57246542-96fe-1a63-e053-0824d011072a", keyID: "2X9R4HXF34",
        privateKey: ServerAPISamples.key.privateKey)

    // MARK: - JWS

    /// Made by Apple's Python library (3.1.2), with this key ID, issuer, nonce and time.
    @Test(
        arguments: [
            (
                .promotionalOffer("comeback", customer),
                """
                {"productId":"com.example.shop.monthly","offerIdentifier":"comeback","transactionId":"2000000123456789",\
                "bid":"com.example.shop","iss":"57246542-96fe-1a63-e053-0824d011072a","aud":"promotional-offer",\
                "iat":1698148900,"nonce":"20fba8a0-2b80-4a7d-a17f-85c1854727f8"}
                """
            ),
            (
                .promotionalOffer("comeback", nil),
                """
                {"productId":"com.example.shop.monthly","offerIdentifier":"comeback",\
                "bid":"com.example.shop","iss":"57246542-96fe-1a63-e053-0824d011072a","aud":"promotional-offer",\
                "iat":1698148900,"nonce":"20fba8a0-2b80-4a7d-a17f-85c1854727f8"}
                """
            ),
            (
                .introductoryOffer(false),
                """
                {"productId":"com.example.shop.monthly","allowIntroductoryOffer":false,\
                "transactionId":"2000000123456789",\
                "bid":"com.example.shop","iss":"57246542-96fe-1a63-e053-0824d011072a",\
                "aud":"introductory-offer-eligibility",\
                "iat":1698148900,"nonce":"20fba8a0-2b80-4a7d-a17f-85c1854727f8"}
                """
            ),
            (
                .advancedCommerce(AdvancedCommerceSamples.ofLibrary),
                """
                {"request":"\(AdvancedCommerceSamples.ofLibraryInBase64)",\
                "bid":"com.example.shop","iss":"57246542-96fe-1a63-e053-0824d011072a","aud":"advanced-commerce-api",\
                "iat":1698148900,"nonce":"20fba8a0-2b80-4a7d-a17f-85c1854727f8"}
                """
            ),
        ] as [(Sample, String)])
    func `header and claims are what Apple's library writes, byte for byte`(sample: Sample, claims: String) throws {
        let jws = try Self.jws(try sample.request)
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
        #expect(parts.count == 3 && parts[0] == "eyJhbGciOiJFUzI1NiIsImtpZCI6IjJYOVI0SFhGMzQiLCJ0eXAiOiJKV1QifQ")
        #expect(String(decoding: try ServerAPISamples.decode(parts[1]), as: UTF8.self) == claims)
        #expect(try ServerAPISamples.isSigned(jws, by: Self.key))
        #expect(try !ServerAPISamples.isSigned(jws, by: ServerAPISamples.otherKey))
    }

    @Test func `each signature has a nonce of its own, a random UUID in lower case`() throws {
        let request = try Sample.promotionalOffer("comeback", nil).request
        let nonces = try (0..<64).map { _ in
            let signature = request.signature(by: Self.key, forApp: Self.app, at: Self.now)
            guard case .jws(let jws) = signature else { throw Missing() }
            return try #require(try ServerAPISamples.claim("nonce", of: jws)?.string)
        }
        #expect(Set(nonces).count == nonces.count)
        let form = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
        #expect(nonces.allSatisfy { $0.wholeMatch(of: form) != nil }, "\(nonces)")
    }

    // MARK: - The original signature

    /// The bytes that Apple's Python library signs for these parts: its own test has them.
    @Test func `the signed bytes are what Apple's library signs`() throws {
        let offer = try Sample.offer("productId", "offerId")
        let bytes = offer.signedBytes(
            forApp: "bundleId", keyID: "keyId", account: "appaccounttoken", nonce: Self.nonce,
            timestamp: 1_698_148_900_000)
        #expect(bytes.count == 111)
        let digest = ASCII.hexadecimal(HashFunction.sha256.digest(of: bytes))
        #expect(digest == "8c7c02a364d7196e9c88815aeecb5e130fd00132172defbb54a75ef9807360ee")
    }

    @Test func `a customer may be missing, and its separators stay`() throws {
        let bytes = try Sample.offer("p", "o").signedBytes(
            forApp: "a", keyID: "k", account: "", nonce: "n", timestamp: 1)
        #expect(String(decoding: bytes, as: UTF8.self) == "a\u{2063}k\u{2063}p\u{2063}o\u{2063}\u{2063}n\u{2063}1")
    }

    @Test(arguments: ["6D3F2B0E-7C0E-4C57-9A8E-0C6A1F9F1A10", nil])
    func `the signature is base64 of DER, which the public key verifies`(token: String?) throws {
        let account = try token.map { try #require(OfferAccount(appAccountToken: $0)) }
        let offer = try Sample.offer("com.example.shop.monthly", "comeback")
        let expected = offer.signedBytes(
            forApp: Self.app, keyID: "2X9R4HXF34", account: token?.lowercased() ?? "", nonce: Self.nonce,
            timestamp: 1_698_148_900_123)
        let point = Self.key.privateKey.publicPoint
        let found = PublicKey(point: point.span, on: .p256), publicKey = try #require(found)
        // The length of r and s differs from signature to signature.
        for _ in 0..<64 {
            let signature = StoreKitRequest.originalPromotionalOffer(offer, account)
                .signature(by: Self.key, forApp: Self.app, at: Self.now, nonce: Self.nonce)
            guard case .original(let original) = signature else { throw Missing() }
            #expect(original.keyID == "2X9R4HXF34" && original.nonce == Self.nonce)
            #expect(original.timestamp == 1_698_148_900_123)
            let der = try Base64.decode(original.signature)
            #expect(der.first == 0x30 && der.count > 2 && Int(der[1]) == der.count - 2)
            let isSigned = try publicKey.verifies(der.span, over: expected.span, .ecdsaWithSHA256)
            #expect(isSigned)
        }
    }

    @Test(arguments: ["", "7", "6d3f2b0e7c0e4c579a8e0c6a1f9f1a10", "6d3f2b0e-7c0e-4c57-9a8e-0c6a1f9f1a1g"])
    func `an account token is a UUID`(token: String) {
        #expect(OfferAccount(appAccountToken: token) == nil)
    }

    @Test func `a user name is signed as it is, so it has no capital letters`() throws {
        let name = try #require(SignableText("user-42"))
        #expect(OfferAccount(applicationUsername: name)?.text == "user-42")
        let capitals = try #require(SignableText("User-42"))
        #expect(OfferAccount(applicationUsername: capitals) == nil)
    }

    /// U+2063 separates the parts. The Kelvin sign is equal to K for Swift, and not for Apple.
    @Test(arguments: ["", "a b", "a\u{2063}b", "\u{212A}", "a\n", String(repeating: "x", count: 257)])
    func `a text that is signed is visible ASCII`(text: String) {
        #expect(SignableText(text) == nil)
    }

    @Test func `a text of the maximum length is signed`() {
        #expect(SignableText(String(repeating: "x", count: SignableText.Limits.bytes)) != nil)
    }

    // MARK: - Steps

    /// A request as a value of a test's arguments.
    enum Sample: Sendable {
        case promotionalOffer(String, String?)
        case introductoryOffer(Bool)
        case advancedCommerce(String)

        var request: StoreKitRequest {
            get throws {
                switch self {
                case .promotionalOffer(let offer, let transactionID):
                    .promotionalOffer(
                        try Self.offer("com.example.shop.monthly", offer), transactionID: transactionID)
                case .introductoryOffer(let isEligible):
                    .introductoryOfferEligibility(
                        productID: try #require(SignableText("com.example.shop.monthly")), isEligible: isEligible,
                        transactionID: customer)
                case .advancedCommerce(let json):
                    .advancedCommerce(try AdvancedCommerceRequest(Array(json.utf8)))
                }
            }
        }

        static func offer(_ product: String, _ offer: String) throws -> ProductOffer {
            ProductOffer(
                productID: try #require(SignableText(product)), offerIdentifier: try #require(SignableText(offer)))
        }
    }

    private struct Missing: Error {}

    private static func jws(_ request: StoreKitRequest) throws -> String {
        guard case .jws(let jws) = request.signature(by: key, forApp: app, at: now, nonce: nonce) else {
            throw Missing()
        }
        return jws
    }
}
