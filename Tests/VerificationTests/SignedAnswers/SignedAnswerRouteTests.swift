// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Clients
@testable import Server
@testable import ServerTestSupport

@Suite("Signed answers of POST /v1/verify", .timeLimit(.patient))
struct SignedAnswerRouteTests {
    private static let receipt = Forged.receipts(1)[0]
    private static let request = ["receipt": Data(receipt).base64EncodedString(), "bundle_id": SigningGateway.app]
    private static let nonce = "AAECAwQFBgcICQoL"

    // MARK: - Claims

    @Test func `a signed answer is the answer, bound to its receipt, its app and a time`() async throws {
        try await SigningGateway.with { site in
            let signed = try await site.verified(Self.request)
            let keyID = try #require(AnswerKeys(repeating: 7)).signingKey.thumbprint
            #expect(signed.header == ["alg": "ES256", "kid": keyID, "typ": "answer+jwt"])
            let seconds = Int(site.now.millisecondsSince1970 / 1000)
            #expect(signed.claims["iat"] as? Int == seconds && signed.claims["exp"] as? Int == seconds + 300)
            #expect(signed.claims["aud"] as? String == SigningGateway.app && signed.nonce == nil)
            #expect(signed.request == ["receipt": VerifiedAnswer.digest(Self.receipt)])
            let plain = try #require(try await site.verify(Self.request, accept: nil))
            #expect(plain.headers["content-type"] == "application/json")
            for name in ["verdict", "environment", "transactions", "receipt"] {
                let value = try #require(plain.body.jsonObject?[name] as? NSObject)
                #expect(signed.answer?[name] as? NSObject == value, "\(name)")
            }
            #expect(signed.verdict == "genuine")
        }
    }

    @Test func `each signed item is bound by its digest, under the name of its field`() async throws {
        try await SigningGateway.with { site in
            var second = TransactionContents()
            second.transactionID = "2"
            let items = [SignedSamples.text(TransactionContents()), SignedSamples.text(second)]
            let several = try await site.verified(["signed_transactions": items])
            #expect(several.verdict == "genuine" && several.claims["aud"] as? String == SigningGateway.app)
            #expect(several.request == ["signed_transactions": items.map { VerifiedAnswer.digest($0) }])
            let alone = try await site.verified(["receipt": items[0]])
            #expect(alone.request == ["receipt": VerifiedAnswer.digest(items[0])])
        }
    }

    @Test func `a rejection is signed as well, for the app that the request names`() async throws {
        try await SigningGateway.with { site in
            var request = Self.request
            request["bundle_id"] = "com.example.other"
            let signed = try await site.verified(request)
            #expect(signed.verdict == "rejected" && signed.answer?["reason"] as? String == "bundle_id_mismatch")
            #expect(signed.claims["aud"] as? String == "com.example.other")
            request["bundle_id"] = nil
            request["receipt"] = "AQID"
            let unnamed = try await site.verified(request)
            #expect(unnamed.verdict == "rejected" && unnamed.claims["aud"] == nil)
            #expect(unnamed.request == ["receipt": VerifiedAnswer.digest([1, 2, 3])])
        }
    }

    @Test func `an account is bound, and its ownership is part of the signed answer`() async throws {
        try await SigningGateway.with { site in
            let ownerships = [("a", "first_seen"), ("b", "other"), ("a", "same"), ("b", "other")]
            for (account, ownership) in ownerships {
                var request = Self.request
                request["account"] = account
                let signed = try await site.verified(request)
                #expect(signed.answer?["ownership"] as? String == ownership, "\(account)")
                #expect(signed.request?["account"] as? String == VerifiedAnswer.digest(account))
                #expect(signed.request?["receipt"] as? String == VerifiedAnswer.digest(Self.receipt))
            }
        }
    }

    // MARK: - Repetition

    @Test func `a cached answer repeats its signature, and a nonce gets a new one`() async throws {
        try await SigningGateway.with { site in
            let first = try #require(try await site.verify(Self.request)?.body)
            let second = try #require(try await site.verify(Self.request)?.body)
            #expect(first != second)
            #expect(try await VerifiedAnswer(first, keySet: site.keySet()).cache == "miss")
            #expect(try await VerifiedAnswer(second, keySet: site.keySet()).cache == "near")
            #expect(try await site.verify(Self.request)?.body == second)
            for nonce in [Self.nonce, "another-nonce-of-this-client"] {
                let signed = try await site.verified(Self.request, nonce: nonce)
                #expect(signed.nonce == nonce && signed.cache == "near" && signed.verdict == "genuine")
                #expect(signed.request == ["receipt": VerifiedAnswer.digest(Self.receipt)])
            }
            #expect(try await site.verify(Self.request)?.body == second)
            // The plain answer is another entry of the cache.
            for cache in ["miss", "near"] {
                let plain = try await site.verify(Self.request, accept: nil)?.body.jsonObject
                #expect((plain?["provenance"] as? NSDictionary)?["cache"] as? String == cache)
            }
            let scrape = try await site.gateway.scrape()
            for (signature, count) in [("made", 2), ("nonce", 2), ("repeated", 2)] {
                #expect(
                    scrape.contains(#"receipt_gateway_signed_answers_total{signature="\#(signature)"} \#(count)"#))
            }
        }
    }

    @Test func `a first answer to a nonce is not repeated to others`() async throws {
        try await SigningGateway.with { site in
            let signed = try await site.verified(Self.request, nonce: Self.nonce)
            #expect(signed.nonce == Self.nonce && signed.cache == "miss")
            let other = try await site.verified(Self.request)
            #expect(other.nonce == nil && other.cache == "near")
        }
    }

    @Test func `a nonce costs a token more, for a new answer and for a cached one`() async throws {
        let limits = "limits: [{name: day, quota: 100, window: 1d}]"
        try await SigningGateway.with("apps: [\(SigningGateway.app)]", limits) { site in
            var left = 100
            for (nonce, cost) in [(Self.nonce, 2), (nil, 1), (Self.nonce, 2), (nil, 1)] {
                let answer = try await site.verify(Self.request, nonce: nonce)
                left -= cost
                #expect(answer?.status == 200 && answer?.headers["ratelimit"]?.contains("r=\(left);") == true)
            }
        }
    }

    // MARK: - Requests

    @Test(arguments: [
        "", "AAECAwQFBgcICQo", String(repeating: "A", count: 129), "AAECAwQFBgcICQo=", "AAECAwQF BgcICQoL",
        "AAECAwQFBgcICQoL\r\nGateway-Nonce: AAECAwQFBgcICQoL", "ÄÖÜÄÖÜÄÖÜÄÖÜÄÖÜÄÖÜ",
    ])
    func `a nonce that is not one base64url text of 16 to 128 characters is a problem`(nonce: String) async throws {
        try await SigningGateway.with { site in
            let answer = try await site.verify(Self.request, nonce: nonce)
            #expect(answer?.status == 400 && answer?.headers["content-type"] == "application/problem+json")
            #expect(answer?.body.jsonObject?["code"] as? String == "invalid_nonce")
        }
    }

    @Test func `without keys answers are JSON, and there is no key set, with an API key or without`() async throws {
        let check: (SigningGateway) async throws -> Void = { site in
            let answer = try await site.verify(Self.request, nonce: "short")
            #expect(answer?.status == 200 && answer?.headers["content-type"] == "application/json")
            let keySet = try await site.gateway.ask("GET /.well-known/jwks.json")
            #expect(keySet?.status == 404 && keySet?.headers["connection"] == "close")
        }
        try await SigningGateway.with(keys: [], check)
        try await SigningGateway.with("apps: [\(SigningGateway.app)]", keys: [], check)
    }

    @Test func `a client's answers are signed without a request for it, and its problems and drop-in answers not`()
        async throws
    {
        try await SigningGateway.with("apps: [\(SigningGateway.app)]", "signed_answers: true") { site in
            for accept in [nil, "application/json", "*/*"] {
                #expect(try await site.verified(Self.request, accept: accept).verdict == "genuine")
            }
            let problem = try await site.verify(["receipt": 1])
            #expect(problem?.status == 400 && problem?.headers["content-type"] == "application/problem+json")
        }
        try await SigningGateway.with { site in
            let answer = try await site.gateway.ask(
                "POST /verifyReceipt", ["Accept: application/jose"],
                body: SignedSamples.body(["receipt-data": Self.request["receipt"] ?? ""]))
            #expect(answer?.status == 200 && answer?.headers["content-type"] == "application/json")
        }
    }

    // MARK: - The key set

    @Test func `anyone gets the public keys, and keeps no connection`() async throws {
        try await SigningGateway.with("apps: [\(SigningGateway.app)]", keys: [7, 8]) { site in
            let answer = try #require(try await site.gateway.ask("GET /.well-known/jwks.json"))
            #expect(answer.status == 200 && answer.headers["content-type"] == "application/jwk-set+json")
            #expect(answer.headers["cache-control"] == "public, max-age=300")
            #expect(answer.headers["connection"] == "close")
            let keys = answer.body.jsonObject?["keys"] as? [NSDictionary]
            let expected = try [7, 8].map { try #require(AnswerKeys(repeating: $0)).signingKey.thumbprint }
            #expect(keys?.map { $0["kid"] as? String } == expected)
            let other = try await site.gateway.ask("POST /.well-known/jwks.json")
            #expect(other?.status == 405 && other?.headers["allow"] == "GET, HEAD, OPTIONS")
        }
    }
}
