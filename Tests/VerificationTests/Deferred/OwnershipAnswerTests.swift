// SPDX-License-Identifier: Apache-2.0

import Customers
import NIOHTTP1
import Testing
import TestSupport

@testable import API
@testable import Clients
@testable import Gateway
@testable import HTTPServer

@Suite("account in POST /v1/verify", .timeLimit(.patient))
struct OwnershipAnswerTests {
    private static func body(_ account: String) -> String { #"{"transaction_id":"2","account":"\#(account)"}"# }

    @Test func `the first account owns a purchase, also in a cached answer`() async throws {
        let site = try DeferredSite()
        site.apple.comeBack()
        let answers: [(String, String, String)] = [
            ("anna", "first_seen", "miss"), ("anna", "same", "near"), ("ben", "other", "shared"),
            ("ben", "other", "near"),
        ]
        for (account, ownership, cache) in answers {
            let answer = try await site.verify(Self.body(account))
            #expect(answer.status == 200 && answer.verdict == "genuine" && answer.text("ownership") == ownership)
            #expect(answer.body.contains(#""cache":"\#(cache)""#))
        }
        #expect(try await site.verify().text("ownership") == nil)
    }

    @Test func `a client that rejects other accounts gets no transaction, also from the cache`() async throws {
        let client = Client.deferring("shop", ownership: .reject), site = try DeferredSite([client])
        site.apple.comeBack()
        _ = try await site.verify(Self.body("anna"), as: client)
        for _ in 0..<2 {
            let answer = try await site.verify(Self.body("ben"), as: client)
            #expect(answer.verdict == "rejected" && answer.text("reason") == "other_account")
            #expect(answer.text("ownership") == "other")
            #expect(answer.body.hasSuffix(#""transactions":[],"subscriptions":[]}"#))
        }
        #expect(try await site.verify(Self.body("anna"), as: client).text("ownership") == "same")
    }

    @Test func `a deferred answer is checked too`() async throws {
        let site = try DeferredSite()
        let answer = try await site.verify(Self.body("anna"), ["Prefer": "respond-async"])
        #expect(answer.status == 202 && !answer.body.contains("ownership"))
        site.apple.comeBack()
        try await site.work()
        let done = try await site.get(answer.location)
        #expect(done.body.contains(#""answer":{"ownership":"first_seen","verdict":"genuine""#))
    }

    @Test func `an account has 1 to 256 bytes`() async throws {
        let site = try DeferredSite()
        site.apple.comeBack()
        #expect(try await site.verify(Self.body(String(repeating: "x", count: 256))).status == 200)
        for account in ["", String(repeating: "x", count: 257)] {
            let refused = try await site.verify(Self.body(account))
            #expect(refused.status == 400 && refused.text("field") == "account")
        }
    }
}
