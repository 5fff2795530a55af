// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Receipts
import Resilience
import Testing

@testable import API
@testable import Clients
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport
@testable import Telemetry

@Suite("transaction_id in POST /v1/verify")
struct TransactionIDTests {
    /// A site whose App Store Server API answers, and whose verifyReceipt has ended.
    private static func site() throws -> DeferredSite {
        let site = try DeferredSite([.shop, .chain], endOfVerifyReceipt: .now())
        site.apple.comeBack()
        return site
    }

    @Test func `an answer names the Server API, its age and its cache, and announces no end`() async throws {
        let site = try Self.site()
        let body = #"{"transaction_id":"2"}"#
        for cache in ["miss", "near"] {
            let answer = try await site.verify(body, as: .shop), json = answer.body
            #expect(answer.status == 200 && json.hasPrefix(#"{"verdict":"genuine","environment":"Sandbox""#))
            #expect(json.contains(#""provenance":{"source":"app_store_server_api","cache":"\#(cache)""#))
            #expect(
                json.contains(#""bundle_id":"\#(DeferredSite.app)","transactions":[{"#)
                    && !json.contains("apple_status"))
            let names = answer.reply.added.map(\.name)
            #expect(names.contains(.age) && names.contains(.cacheStatus))
            #expect(!names.contains(.sunset) && !names.contains(.deprecation))
        }
        #expect(site.apple.asked == ["2"])
    }

    @Test func `an unknown ID is rejected with an explanation`() async throws {
        let json = try await Self.site().verify(#"{"transaction_id":"7"}"#, as: .shop).body
        #expect(
            json.hasPrefix(#"{"verdict":"rejected","reason":"transaction_not_found","explanation":"Apple knows no"#))
        #expect(json.hasSuffix(#""transactions":[],"subscriptions":[]}"#))
    }

    struct Refusal: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let client: Client
        let body: String
        let status: Int
        let code: String
        var field: String?
        var fault: String?
    }

    @Test(arguments: [
        Refusal(
            testDescription: "another client's app", client: .shop,
            body: #"{"transaction_id":"2","bundle_id":"com.example.other"}"#, status: 403, code: "app_not_permitted"),
        Refusal(
            testDescription: "two apps", client: .chain, body: #"{"transaction_id":"2"}"#, status: 400,
            code: "invalid_body", field: "bundle_id", fault: "missing_field"),
        Refusal(
            testDescription: "an app without a key", client: .chain,
            body: #"{"transaction_id":"2","bundle_id":"com.example.other"}"#, status: 422,
            code: "server_api_not_configured"),
        Refusal(
            testDescription: "an app that cannot be one", client: .shop,
            body: #"{"transaction_id":"2","bundle_id":"com.example.<b>"}"#, status: 400,
            code: "invalid_body", field: "bundle_id", fault: "value_not_accepted"),
        Refusal(
            testDescription: "an ID without a digit", client: .shop, body: #"{"transaction_id":"abc"}"#, status: 400,
            code: "invalid_body", field: "transaction_id", fault: "value_not_accepted"),
    ])
    func `a request that cannot be asked is refused before Apple, at the minimum cost`(refusal: Refusal) async throws {
        let site = try Self.site()
        let answer = try await site.verify(refusal.body, as: refusal.client)
        #expect(answer.status == refusal.status && answer.text("code") == refusal.code, "\(answer.body)")
        #expect(answer.text("field") == refusal.field && answer.text("fault") == refusal.fault)
        #expect(site.apple.asked.isEmpty)
        #expect(answer.limit("RateLimit")?.hasPrefix(#""day";r=99;"#) == true)
    }

    @Test func `a request takes the tokens of a call to Apple`() async throws {
        let answer = try await Self.site().verify(as: .shop)
        #expect(answer.limit("RateLimit")?.hasPrefix(#""day";r=93;"#) == true)
    }

    @Test func `too many unknown IDs are refused with the usual fields`() async throws {
        let site = try Self.site()
        for id in 100..<102 {
            #expect(try await site.verify(#"{"transaction_id":"\#(id)"}"#, as: .shop).status == 200)
        }
        let answer = try await site.verify(#"{"transaction_id":"102"}"#, as: .shop)
        #expect(answer.status == 429 && answer.body.contains(#""violated-policies":["unknown_ids"]"#))
        #expect(answer.field(.retryAfter).flatMap { Int($0) }.map { (1...30).contains($0) } == true)
        #expect(answer.limit("RateLimit-Policy") == #""unknown_ids";q=2;w=60"#)
        #expect(answer.limit("RateLimit")?.hasPrefix(#""unknown_ids";r=0;"#) == true)
        #expect(site.registry.value(of: #"limited_requests_total{limit="rate"}"#) == 1)
        #expect(site.apple.asked == ["100", "101"])
    }

    @Test func `answers count as those without evidence`() async throws {
        let site = try Self.site()
        #expect(try await site.verify(as: .shop).status == 200)
        #expect(site.registry.value(of: #"evidence_total{kind="transaction_id"}"#) == 1)
    }
}

extension Client {
    private static func with(_ apps: Set<String>) -> Client {
        let day = ClientPolicy(
            subject: .client, rate: RatePolicy(name: "day", quota: 100, window: .seconds(86_400)), costs: [.apple: 7])
        return Client(
            name: "shop", apps: .only(apps), keys: [],
            limits: ClientLimits(policies: [day], unknownIDsPerMinute: 2))
    }

    fileprivate static let shop = with(["com.example.shop"])
    fileprivate static let chain = with(["com.example.shop", "com.example.other"])
}
