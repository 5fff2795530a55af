// SPDX-License-Identifier: Apache-2.0

import Cryptography
import HTTPTypes
import NIOCore
import NIOHTTP1
import Receipts
import Resilience
import Synchronization
import Testing

@testable import API
@testable import Clients
@testable import Gateway
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

@Suite("transaction_id in POST /v1/verify")
struct TransactionIDTests {
    private static let app = "com.example.shop"

    @Test func `an answer names the Server API, its age and its cache, and announces no end`() async throws {
        let site = try Site()
        let body = #"{"transaction_id":"2"}"#
        for cache in ["miss", "near"] {
            let reply = try await site.ask(body, of: .shop).get()
            let json = String(decoding: reply.body.bytes, as: UTF8.self)
            #expect(reply.status == .ok && json.hasPrefix(#"{"verdict":"genuine","environment":"Sandbox""#))
            #expect(json.contains(#""provenance":{"source":"app_store_server_api","cache":"\#(cache)""#))
            #expect(json.contains(#""bundle_id":"\#(Self.app)","transactions":[{"#) && !json.contains("apple_status"))
            let names = reply.added.map(\.name)
            #expect(names.contains(.age) && names.contains(.cacheStatus))
            #expect(!names.contains(.sunset) && !names.contains(.deprecation))
        }
        #expect(site.apple.asked == ["2"])
    }

    @Test func `an unknown ID is rejected with an explanation`() async throws {
        let reply = try await Site().ask(#"{"transaction_id":"7"}"#, of: .shop).get()
        let json = String(decoding: reply.body.bytes, as: UTF8.self)
        #expect(
            json.hasPrefix(#"{"verdict":"rejected","reason":"transaction_not_found","explanation":"Apple knows no"#))
        #expect(json.hasSuffix(#""transactions":[],"subscriptions":[]}"#))
    }

    struct Refusal: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let client: Client
        let body: String
        let status: Int
        let code: Problem.Code
        var field: String?
        var fault: String?
    }

    @Test(arguments: [
        Refusal(
            testDescription: "another client's app", client: .shop,
            body: #"{"transaction_id":"2","bundle_id":"com.example.other"}"#, status: 403, code: .appNotPermitted),
        Refusal(
            testDescription: "two apps", client: .chain, body: #"{"transaction_id":"2"}"#, status: 400,
            code: .invalidBody, field: "bundle_id", fault: "missing_field"),
        Refusal(
            testDescription: "an app without a key", client: .chain,
            body: #"{"transaction_id":"2","bundle_id":"com.example.other"}"#, status: 422,
            code: .serverAPINotConfigured),
        Refusal(
            testDescription: "an app that cannot be one", client: .shop,
            body: #"{"transaction_id":"2","bundle_id":"com.example.<b>"}"#, status: 400,
            code: .invalidBody, field: "bundle_id", fault: "value_not_accepted"),
        Refusal(
            testDescription: "an ID without a digit", client: .shop, body: #"{"transaction_id":"abc"}"#, status: 400,
            code: .invalidBody, field: "transaction_id", fault: "value_not_accepted"),
    ])
    func `a request that cannot be asked is refused before Apple, at the minimum cost`(refusal: Refusal) async throws {
        let site = try Site()
        let context = try site.context(of: refusal.client)
        let result = await site.ask(refusal.body, of: refusal.client, in: context)
        guard case .failure(let error) = result else {
            Issue.record("it was answered")
            return
        }
        let problem = Problem(error)
        #expect(problem.status.code == refusal.status && problem.code == refusal.code)
        #expect(problem.field == refusal.field && problem.fault == refusal.fault)
        #expect(site.apple.asked.isEmpty)
        #expect(context.field("RateLimit")?.hasPrefix(#""day";r=99;"#) == true)
    }

    @Test func `a request takes the tokens of a call to Apple`() async throws {
        let site = try Site(), context = try site.context(of: .shop)
        _ = try await site.ask(#"{"transaction_id":"2"}"#, of: .shop, in: context).get()
        #expect(context.field("RateLimit")?.hasPrefix(#""day";r=93;"#) == true)
    }

    @Test func `too many unknown IDs are refused with the usual fields`() async throws {
        let site = try Site()
        for id in 100..<102 { _ = try await site.ask(#"{"transaction_id":"\#(id)"}"#, of: .shop).get() }
        let context = try site.context(of: .shop)
        guard case .failure(let error) = await site.ask(#"{"transaction_id":"102"}"#, of: .shop, in: context) else {
            Issue.record("it was answered")
            return
        }
        let problem = Problem(error)
        #expect(problem.status == .tooManyRequests && problem.violatedPolicies == ["unknown_ids"])
        #expect(problem.headerFields[.retryAfter].flatMap { Int($0) }.map { (1...30).contains($0) } == true)
        #expect(context.field("RateLimit-Policy") == #""unknown_ids";q=2;w=60"#)
        #expect(context.field("RateLimit")?.hasPrefix(#""unknown_ids";r=0;"#) == true)
        #expect(site.metric(#"receipt_gateway_limited_requests_total{limit="rate"}"#) == 1)
        #expect(site.apple.asked == ["100", "101"])
    }

    @Test func `answers count as those without evidence`() async throws {
        let site = try Site()
        _ = try await site.ask(#"{"transaction_id":"2"}"#, of: .shop).get()
        #expect(site.metric(#"receipt_gateway_evidence_total{kind="transaction_id"}"#) == 1)
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

extension RequestContext {
    fileprivate func field(_ name: String) -> String? {
        rateLimitFields.first { $0.name.rawName.lowercased() == name.lowercased() }?.value
    }
}

/// The endpoint with a scripted App Store Server API, which knows the transaction 2 of the app com.example.shop.
private struct Site {
    let apple = ScriptedServerAPI()
    private let registry: PrometheusRegistry
    private let handler: VerifyHandler
    private let access = Access(AccessRules())
    private let routes: RouteTable

    init() throws {
        registry = try PrometheusRegistry(MetricCatalogue.all)
        let ports = FleetPorts(
            cache: EmbeddedUpstreamCache(maximumBytes: 1 << 20), limiter: EmbeddedRateLimiter(),
            leases: EmbeddedFlightLeases(), fleetState: EmbeddedFleetState())
        let lifecycle = UpstreamLifecycle(configured: LifecycleDates(sunset: .now()))
        let connection = UpstreamConnection(
            ScriptedApple(), customers: apple, guards: UpstreamGuards(), lifecycle: lifecycle,
            timeouts: .unhurried)
        let upstream = UpstreamVerification(
            connection, fleet: ports, policy: CachePolicy { 0 }, observe: { _ in }, clock: { .now() })
        let charging = RequestCharging(
            ClientAdmission(rates: ports.limiter, slots: EmbeddedInFlightLimiter()), metrics: LimitMetrics(registry))
        handler = VerifyHandler(
            verification: VerificationService(verifier: CurrentVerifier(Forged.verifier), apple: upstream),
            access: CurrentAccess(access), charging: charging,
            metrics: VerificationMetrics(registry), nearCache: NearCache(maximumBytes: 1 << 20), lifecycle: lifecycle,
            clock: { .now() })
        routes = RouteTable([handler.route(at: VerdictEndpoint())])
    }

    func context(of client: Client) throws -> RequestContext {
        try .forTests(["Content-Type": "application/json"], .POST, "/v1/verify", in: routes, client: client)
    }

    func ask(_ body: String, of client: Client, in context: RequestContext? = nil) async -> Result<Reply, any Error> {
        do {
            let step = try handler.answer(
                try context ?? self.context(of: client), of: client, access,
                ReservedBody(ByteBuffer(string: body), nil), at: VerdictEndpoint())
            return .success(try await step.value())
        } catch {
            return .failure(error)
        }
    }

    func metric(_ series: String) -> Double? {
        registry.text().split(separator: "\n").first { $0.hasPrefix(series + " ") }
            .flatMap { Double($0.dropFirst(series.count + 1)) }
    }
}

private final class ScriptedServerAPI: CustomerLookup {
    private let requests = Mutex<[String]>([])

    var asked: [String] { requests.withLock(\.self) }

    func hasKey(forApp bundleID: String) -> Bool { bundleID == "com.example.shop" }

    func purchases(_ request: CustomerRequest, deadline: ContinuousClock.Instant) async -> UpstreamResult {
        requests.withLock { $0.append(request.transactionID) }
        guard request.transactionID == "2" else { return .unknownTransaction(.notFound) }
        let item = Transaction(productID: "item", transactionID: "2")
        return .answered(
            UpstreamAnswer(
                environment: .sandbox, bundleID: request.bundleID, transactions: [item], renewals: [],
                latestReceipt: nil, body: []))
    }
}
