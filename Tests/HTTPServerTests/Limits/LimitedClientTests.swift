// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import ServerTestSupport
@testable import Settings

/// Limits as a client sees them. No window ends while these tests run.
@Suite("Limits of clients", .timeLimit(.patient))
struct LimitedClientTests {
    private var site: Site { .current }

    @Test(.limits("[{name: day, quota: 3, window: 1d}]"))
    func `both routes share a bucket, and every response has the remaining tokens`() async throws {
        let first = try await site.verify()
        #expect(first?.status == 200 && first?.headers["ratelimit-policy"] == #""day";q=3;w=86400"#)
        #expect(first?.headers["ratelimit"]?.wholeMatch(of: /"day";r=2;t=28\d\d\d/) != nil)
        let second = try await site.ask("POST /verifyReceipt", #"{"receipt-data":"AQID"}"#)
        #expect(second?.status == 200 && second?.headers["ratelimit"]?.hasPrefix(#""day";r=1;"#) == true)
        let refusedApp = try await site.verify(#"{"receipt":"AQID","bundle_id":"com.example.a"}"#)
        #expect(refusedApp?.status == 200 && refusedApp?.headers["ratelimit"]?.hasPrefix(#""day";r=0;"#) == true)
        for (path, body) in [
            ("/v1/verify", #"{"receipt":"AQID"}"#), ("/verifyReceipt", #"{"receipt-data":"AQID"}"#),
        ] {
            let refusal = try await site.ask("POST \(path)", body)
            try Self.expectQuotaExceeded(refusal, policies: "\"day\"")
        }
        #expect(site.gateway.log.containing(#""limited_by":"day""#).count == 2)
    }

    private static func expectQuotaExceeded(_ answer: RawAnswer?, policies: String) throws {
        #expect(answer?.status == 429 && answer?.headers["content-type"] == "application/problem+json")
        let body = answer?.body ?? ""
        #expect(body.contains(#""type":"https://iana.org/assignments/http-problem-types#quota-exceeded""#))
        #expect(body.contains(#""code":"quota_exceeded","violated-policies":[\#(policies)]"#))
        let state = try #require(answer?.headers["ratelimit"]?.firstMatch(of: /r=0;t=(\d+)$/))
        let wait = try #require(Int(state.output.1))
        #expect(try #require(answer?.headers["retry-after"].flatMap { Int($0) }) >= wait)
    }

    @Test(.limits("[{name: day, quota: 1, window: 1d}]")) func `the status costs nothing`() async throws {
        for _ in 1...3 {
            let status = try await site.ask("GET /v1/status", "")
            #expect(status?.status == 200 && status?.headers["ratelimit"] == nil)
        }
        #expect(try await site.verify()?.status == 200)
        #expect(try await site.verify()?.status == 429)
    }

    @Test(arguments: [
        ("POST /v1/verify", "{", 400), ("POST /v1/verify", #"{"receipt":"A*ID"}"#, 400),
        ("POST /v1/verify", #"{"receipt":"AQID","bundle_id":"com.other"}"#, 403),
        ("POST /verifyReceipt", "[0]", 200), ("POST /verifyReceipt", #"{"receipt-data":"?"}"#, 200),
    ])
    func `an unreadable body is charged to the client at the minimum cost, and not to an app`(
        line: String, body: String, status: Int
    ) async throws {
        let day = "{name: day, quota: 4, window: 1d, cost: {apple: 4}}"
        try await Self.with(limits: "[\(day), {name: app, quota: 1, window: 1d, per: app}]") { site in
            for left in [3, 2, 1] {
                let answer = try await site.ask(line, body)
                #expect(answer?.status == status)
                #expect(answer?.headers["ratelimit"]?.hasPrefix(#""day";r=\#(left);"#) == true)
                #expect(answer?.headers["ratelimit-policy"] == #""day";q=4;w=86400"#)
            }
            // The app still has its token; this request takes the client's last one too.
            #expect(try await site.verify(#"{"receipt":"AQID","bundle_id":"com.example.a"}"#)?.status == 200)
            let refusal = try await site.ask(line, body)
            try Self.expectQuotaExceeded(refusal, policies: "\"day\"")
        }
    }

    @Test(.limits("[{name: day, quota: 1, window: 1d}]"))
    func `a client over its limit is rejected before its body is read`() async throws {
        let first = try await site.verify()
        #expect(first?.status == 200)
        // The rejection does not depend on the body.
        for body in ["{", #"{"receipt":"A*ID"}"#, #"{"receipt":"AQID","bundle_id":"com.other"}"#] {
            try Self.expectQuotaExceeded(try await site.verify(body), policies: "\"day\"")
        }
        try Self.expectQuotaExceeded(try await site.ask("POST /verifyReceipt", "[0]"), policies: "\"day\"")
    }

    @Test(.limits(perAddress)) func `an unreadable body is charged to its address too`() async throws {
        let statuses = [try await site.verify("{")?.status, try await site.verify()?.status]
        #expect(statuses == [400, 429])
    }

    @Test func `a more expensive mode takes more tokens`() async throws {
        try await Self.with(limits: "[{name: day, quota: 10, window: 1d, cost: {apple: 5, apple_first: 3}}]") { site in
            #expect(
                try await site.verify(#"{"receipt":"AQID","mode":"apple"}"#)?.headers["ratelimit"]?.contains("r=5;")
                    == true)
            let appleFirst = try await site.ask("POST /verifyReceipt", #"{"receipt-data":"AQID"}"#)
            #expect(appleFirst?.headers["ratelimit"]?.contains("r=2;") == true)
            #expect(try await site.verify(#"{"receipt":"AQID","mode":"apple"}"#)?.status == 429)
            #expect(try await site.verify()?.headers["ratelimit"]?.contains("r=1;") == true)
        }
        // A request with `max_age` may cause a request to Apple each time, in mode `auto` too.
        try await Self.with(limits: "[{name: day, quota: 10, window: 1d, cost: {apple: 5}}]") { site in
            let answer = try await site.verify(#"{"receipt":"AQID","max_age":0}"#)
            #expect(answer?.headers["ratelimit"]?.contains("r=5;") == true)
        }
    }

    @Test(.limits("[{name: day, quota: 100, window: 1d}]"))
    func `each ten items more take a token, also for a cached answer`() async throws {
        var left = 100
        for (count, cost, cache) in [(1, 1, "miss"), (11, 2, "miss"), (12, 3, "miss"), (12, 3, "near")] {
            let items = Array(repeating: #""x""#, count: count).joined(separator: ",")
            let answer = try await site.verify(#"{"signed_transactions":[\#(items)]}"#)
            left -= cost
            #expect(answer?.status == 200 && answer?.headers["ratelimit"]?.contains("r=\(left);") == true)
            #expect(answer?.body.contains(#""reason":"jws_not_compact""#) == true)
            #expect(answer?.body.contains(#""cache":"\#(cache)""#) == true)
        }
    }

    @Test(.limits("[{name: day, quota: 5, window: 1d}]"))
    func `a request never costs more than the burst`() async throws {
        let items = Array(repeating: #""x""#, count: 200).joined(separator: ",")
        let body = #"{"signed_transactions":[\#(items)]}"#
        let statuses = [try await site.verify(body)?.status, try await site.verify(body)?.status]
        #expect(statuses == [200, 429])
    }

    @Test(.limits("[{name: strict, quota: 1, window: 1d, shadow: true}]"))
    func `shadow mode rejects no request, and appears in the log and the metrics only`() async throws {
        for _ in 1...3 {
            let answer = try await site.verify()
            #expect(answer?.status == 200 && answer?.headers["ratelimit-policy"] == nil)
        }
        #expect(site.gateway.log.containing(#""limited_in_shadow_by":"strict""#).count == 2)
        let scrape = try await site.gateway.scrape()
        for (decision, count) in [("admitted", 1), ("refused_in_shadow", 2), ("refused", 0)] {
            let labels = #"{subject="client",decision="\#(decision)",source="store"} \#(count)"#
            #expect(scrape.contains("receipt_gateway_rate_limit_decisions_total\(labels)\n"))
        }
        #expect(scrape.contains(#"receipt_gateway_limited_requests_total{limit="rate"} 0"#))
    }

    @Test(.limits("[{name: app, quota: 1, window: 1d, per: app}]"))
    func `a rejection is counted with its limit`() async throws {
        for app in ["a", "b", "a"] {
            _ = try await site.verify(#"{"receipt":"AQID","bundle_id":"com.example.\#(app)"}"#)
        }
        let scrape = try await site.gateway.scrape()
        #expect(scrape.contains(#"decisions_total{subject="app",decision="admitted",source="store"} 2"#))
        #expect(scrape.contains(#"receipt_gateway_limited_requests_total{limit="rate"} 1"#))
        #expect(scrape.contains(#"http_requests_total{route="/v1/verify",method="POST",code="429"} 1"#))
    }

    @Test func `the legacy fields are sent if configured`() async throws {
        try await Self.with(limits: "[{name: day, quota: 3, window: 1d}]") {
            $0.http.sendsLegacyRateLimitFields = true
        } _: { site in
            let answer = try await site.verify()
            #expect(answer?.headers["x-ratelimit-limit"] == "3" && answer?.headers["x-ratelimit-remaining"] == "2")
            #expect(answer?.headers["x-ratelimit-reset"] != nil)
        }
    }

    // MARK: - Addresses

    private static let perAddress = "[{name: address, quota: 1, window: 1d, per: address}]"

    @Test(
        .limits(perAddress),
        arguments: ["X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1", "X-Real-IP: 192.0.2.1"])
    func `a direct client cannot choose its address`(field: String) async throws {
        let statuses = try await site.statuses(["X: y", field])
        #expect(statuses == [200, 429])
    }

    @Test func `behind a proxy each client has one bucket, and cannot choose another`() async throws {
        let proxies = try AddressRanges(configuration: "127.0.0.0/8")
        try await Self.with(limits: Self.perAddress) {
            $0.http.remoteAddresses.trustedProxies = proxies
        } _: { site in
            let callers = try await site.statuses(["X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.2"])
            #expect(callers == [200, 200])
            let spoofs = try await site.statuses([
                "X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 203.0.113.5, 192.0.2.1",
                "X-Forwarded-For: 203.0.113.6\r\nX-Forwarded-For: 192.0.2.1",
                "X-Forwarded-For: \"203.0.113.7, 192.0.2.1", "Forwarded: for=203.0.113.8\r\nX-Forwarded-For: 192.0.2.1",
                "X-Forwarded-For: 127.0.0.9, ::ffff:192.0.2.1", "X-Forwarded-For: [::ffff:192.0.2.1]:99",
            ])
            #expect(spoofs == Array(repeating: 429, count: 7))
        }
    }

    @Test func `requests without a readable address share the proxy's bucket`() async throws {
        let proxy = try AddressRanges(configuration: "127.0.0.1")
        try await Self.with(limits: Self.perAddress) {
            $0.http.remoteAddresses.trustedProxies = proxy
        } _: { site in
            let statuses = try await site.statuses([
                "X-Forwarded-For: \(String(repeating: ",", count: 8000))", "X-Forwarded-For: unknown",
                "X-Forwarded-For: 1.2.3.4,\t", "X-Forwarded-For: '; DROP", "X: y",
            ])
            #expect(statuses == [200, 429, 429, 429, 429])
        }
    }

    // MARK: - Steps

    fileprivate struct Site: Surroundings {
        @TaskLocal private static var running: Site?
        static var local: TaskLocal<Site?> { $running }

        let gateway: RunningGateway
        let key: APIKey

        func verify(_ body: String = #"{"receipt":"AQID"}"#, fields: [String] = []) async throws -> RawAnswer? {
            try await ask("POST /v1/verify", body, fields: fields)
        }

        /// Returns the statuses of requests with these header fields, sent one after another.
        func statuses(_ fields: [String]) async throws -> [Int] {
            var statuses: [Int] = []
            for field in fields { statuses.append(try await verify(fields: [field])?.status ?? 0) }
            return statuses
        }

        func ask(_ line: String, _ body: String, fields: [String] = []) async throws -> RawAnswer? {
            try await gateway.ask(
                line, ["Content-Type: application/json", "X-API-Key: \(key.exposed)"] + fields, body: body)
        }
    }

    fileprivate static func with(
        limits: String, _ change: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (Site) async throws -> Void
    ) async throws {
        let key = APIKey.random()
        try await RunningGateway.withClient(
            key, "apps: [com.example.a, com.example.b]", "limits: \(limits)", change: change
        ) { try await body(Site(gateway: $0, key: key)) }
    }
}

extension Trait where Self == SurroundingsTrait {
    /// A gateway with one client, whose entry has these limits.
    fileprivate static func limits(_ limits: String) -> Self {
        SurroundingsTrait(LimitedClientTests.Site.self) {
            try await LimitedClientTests.with(limits: limits, { _ in }, $0)
        }
    }
}
