// SPDX-License-Identifier: Apache-2.0

import HTTPClient
import HTTPTypes
import NIOHTTP1
import Resilience
import Testing
import TestSupport

@testable import API
@testable import AppStore
@testable import Clients
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport

@Suite("The proxy to the App Store Server API", .timeLimit(.patient))
struct AppleProxyTests {
    // MARK: - Calls

    @Test func `the samples have a call of each template`() {
        #expect(ProxyCall.all.count == ServerAPITemplate.all.count)
        #expect(Set(ProxyCall.all.map(\.operation)) == Set(ServerAPIOperation.allCases))
    }

    @Test(arguments: ProxyCall.all)
    func `a call reaches Apple as it was sent, with the app and the environment of the path`(call: ProxyCall)
        async throws
    {
        for environment in UpstreamEnvironment.allCases {
            let site = try ProxySite()
            let reply = try await site.ask(call, environment: environment.rawValue)
            #expect(reply.status == .ok && reply.text == "{}")
            let request = try #require(site.calls.first)
            #expect(site.calls.count == 1)
            #expect(request.bundleID == ProxySite.app && request.environment == environment)
            #expect(request.call.operation == call.operation)
            #expect(request.share == (call.operation.isPartOfVerification ? .withoutEvidence : .full))
            let target = request.call.path + (request.call.query.map { "?\($0)" } ?? "")
            #expect(target == "/\(call.root)/\(call.target)" && request.call.body == Array(call.body.utf8))
            #expect(request.call.method.rawValue == call.method.rawValue)
        }
    }

    @Test func `HEAD is a GET for Apple, and OPTIONS is answered here`() async throws {
        let site = try ProxySite()
        #expect(try await site.ask(.HEAD, "v1/transactions/1").status == .ok)
        #expect(site.calls.map(\.call.operation) == [.transactionInfo])
        let options = try await site.ask(.OPTIONS, "v1/transactions/1")
        #expect(options.status == .noContent && options.fields[.allow] == "GET, POST, PUT, DELETE, HEAD, OPTIONS")
        #expect(try await site.ask(.DELETE, "v1/transactions/1").status == .methodNotAllowed)
        #expect(try await site.ask(.PATCH, "v1/transactions/1").status == .methodNotAllowed)
        #expect(site.calls.count == 1)
    }

    @Test(arguments: [
        (HTTPMethod.PUT, "v1/transactions/1", "GET, HEAD, OPTIONS"), (.GET, "v1/notifications/test", "POST, OPTIONS"),
        (.DELETE, "v1/transactions/1/appAccountToken", "PUT, OPTIONS"),
        (.POST, "v1/messaging/realtime/url", "GET, PUT, DELETE, HEAD, OPTIONS"),
    ])
    func `a path has the methods of its operations only`(
        method: HTTPMethod, target: String, allowed: String
    ) async throws {
        let site = try ProxySite()
        let reply = try await site.ask(method, target, method == .PUT ? "{}" : "")
        #expect(reply.status == .methodNotAllowed && reply.code == "method_not_allowed")
        #expect(reply.fields[.allow] == allowed && site.calls.isEmpty)
    }

    private static let id = ProxyCall.id

    @Test(arguments: [
        "/v1/apple/", "/v1/apple/com.example.shop", "/v1/apple/com.example.shop/sandbox",
        "/v1/apple/com.example.shop/sandbox/", "/v1/apple/com.example.shop/sandbox/inApps",
        "/v1/apple/com.example.shop/sandbox/inApps/", "/v1/apple/com.example.shop/sandbox/v1/transactions/\(id)",
        "/v1/apple/com.example.shop/Sandbox/inApps/v1/transactions/\(id)",
        "/v1/apple/com.example.shop/xcode/inApps/v1/transactions/\(id)",
        "/v1/apple/com.example.shop//inApps/v1/transactions/\(id)", "/v1/apple//sandbox/inApps/v1/transactions/\(id)",
        "/v1/apple//com.example.shop/sandbox/inApps/v1/transactions/\(id)",
        "/v1/apple/com.example.shop/sandbox///inApps/v1/transactions/\(id)",
        "/v1/apple/com.example.shop/sandbox/advancedCommerce/v1/transactions/\(id)",
        "/v1/apple/../sandbox/inApps/v1/transactions/\(id)",
        "/v1/apple/com.example.shop/sandbox/../sandbox/inApps/v1/transactions/\(id)",
        "/v1/apple/com.example.shop/sandbox/inapps/v1/transactions/\(id)",
        "/v1/apple/com%2Eexample.shop/sandbox/inApps/v1/transactions/\(id)",
        "/v1/apple/com.example.shop%2Fsandbox/inApps/v1/transactions/\(id)",
        "/v1/apple/\(String(repeating: "a", count: 156))/sandbox/inApps/v1/transactions/\(id)",
    ])
    func `another path of the gateway is not found`(target: String) async throws {
        let site = try ProxySite(
            client: ProxySite.client(apps: .all, rights: .everyApp(Set(Client.AppleRight.allCases))))
        let reply = try await site.send(.GET, target)
        #expect(reply.status == .notFound && reply.code == "not_found")
        #expect(site.calls.isEmpty)
    }

    @Test(arguments: [
        "v1/transactions/\(id)//", "v1/transactions//\(id)", "/v1/transactions/\(id)", "v1//transactions/\(id)",
        "v1/transactions/../transactions/\(id)", "v1/../v1/transactions/\(id)", "../inApps/v1/transactions/\(id)",
        "v1/transactions/%2e%2e/transactions/\(id)", "v1/transactions%2F\(id)", "v1/transactions/..",
        "v1/transactions/\(id)%2Ffinish", "v1/transactions/.%2e", "v1/transactions/%32000", "v1/transactions/\(id)%00",
        "v1/transactions/\(id);x=1", "v1/transactions/", "v1/transactions", "v3/transactions/\(id)",
        "V1/transactions/\(id)", "v1/Transactions/\(id)", "v1/transactions/\(id)/refunds", "v1/anything",
        "v1/transactions/\(String(repeating: "1", count: 4000))", "v1/transactions/{id}", "v1/transactions/*",
        "v1/transactions/\(id)@evil.example", "v1/transactions/1,2",
    ])
    func `a path outside the closed list is refused`(target: String) async throws {
        for method in [HTTPMethod.GET, .PUT, .POST] {
            let site = try ProxySite()
            let reply = try await site.ask(method, target, method == .GET ? "" : "{}")
            #expect([.badRequest, .notFound].contains(reply.status), "\(method) \(reply.text)")
            #expect(site.calls.isEmpty && site.audit.isEmpty)
            #expect(!reply.text.contains(Self.id) && !reply.text.contains("evil"))
        }
    }

    @Test(arguments: [
        "v1/transactions/\(id)?x=1", "v1/transactions/\(id)?=", "v2/history/\(id)?sort=",
        "v2/history/\(id)?revision=a&revision=b", "v2/history/\(id)?secret=1", "v2/history/\(id)?Revision=a",
        "v2/history/\(id)?revision=%zz", "v2/history/\(id)?revision=a%0d%0aHost:%20evil.example",
        "v1/subscriptions/\(id)?status=%20", "v2/history/\(id)?%72evision=a",
        "v2/history/\(id)?productId=\(String(repeating: "a", count: 9000))",
    ])
    func `a query outside the closed list is refused`(target: String) async throws {
        let site = try ProxySite()
        let reply = try await site.ask(.GET, target)
        #expect(reply.status == .badRequest && reply.code == "invalid_call", "\(reply.text)")
        #expect(site.calls.isEmpty)
        #expect(!reply.text.contains(Self.id) && !reply.text.contains("evil"))
    }

    @Test(arguments: [
        ("v1/transactions/\(id)/appAccountToken", ""), ("v1/transactions/\(id)/appAccountToken", "[]"),
        ("v1/transactions/\(id)/appAccountToken", #"{"appAccountToken":"#),
        ("v1/transactions/\(id)/appAccountToken", "<html>"),
    ])
    func `a body that is no JSON object is refused`(target: String, body: String) async throws {
        let site = try ProxySite()
        let reply = try await site.ask(.PUT, target, body)
        #expect(reply.status == .badRequest, "\(reply.text)")
        #expect(site.calls.isEmpty && site.audit.isEmpty)
    }

    @Test(arguments: ProxyCall.all.filter { !$0.body.isEmpty }, ["text/plain", "image/png", "application/json"])
    func `a body must have the media type of its call`(call: ProxyCall, type: String) async throws {
        guard type != call.contentType else { return }
        var call = call
        call.contentType = type
        let site = try ProxySite()
        #expect(try await site.ask(call).status == .unsupportedMediaType && site.calls.isEmpty)
    }

    @Test func `a body has at most 64 KiB, an image 8 MiB, and none of a GET is sent`() async throws {
        #expect(try ProxySite().routes.match(.post, "/v1/apple/a").bodyLimit == .kibibytes(64))
        #expect(try ProxySite().routes.match(.put, "/v1/apple/a").bodyLimit == .mebibytes(8))
        let long = "{\"appAccountToken\":\"" + String(repeating: "a", count: 64 << 10) + "\"}"
        let refused = try await ProxySite().ask(.PUT, "v1/transactions/1/appAccountToken", long)
        #expect(refused.status == .contentTooLarge && refused.code == "body_too_large")
        let site = try ProxySite()
        #expect(try await site.ask(.GET, "v1/transactions/\(Self.id)", "{}").status == .badRequest)
        #expect(site.calls.isEmpty)
    }

    // MARK: - Rights

    private static let everySet: [Set<Client.AppleRight>] = [
        [], [.read], [.write], [.mass], [.commerce], [.read, .write], [.read, .mass], [.write, .mass],
        [.read, .write, .mass],
    ]

    @Test(arguments: ProxyCall.all, everySet)
    func `each operation needs its right for the app, and no other`(
        call: ProxyCall, rights: Set<Client.AppleRight>
    ) async throws {
        let needed: Client.AppleRight =
            switch call.operation {
            case .extendRenewalDate, .consumptionInformation, .setAppAccountToken, .finishTransaction: .write
            case .massExtendRenewalDates, .testNotification, .retentionMessagingChange: .mass
            case .advancedCommerce: .commerce
            default: .read
            }
        // The other app shows that rights are not mixed up.
        let others = Set(Client.AppleRight.allCases).subtracting(rights)
        let client = ProxySite.client(
            apps: .only([ProxySite.app, "com.example.other"]),
            rights: .byApp([ProxySite.app: rights, "com.example.other": others]))
        for (app, granted) in [(ProxySite.app, rights), ("com.example.other", others)] {
            let site = try ProxySite(client: client)
            let reply = try await site.ask(call, app: app, environment: "production")
            #expect(reply.status == (granted.contains(needed) ? .ok : .forbidden))
            #expect(site.calls.count == (granted.contains(needed) ? 1 : 0))
            guard !granted.contains(needed) else { continue }
            #expect(reply.code == "operation_not_permitted" && reply.text.contains(#"\"\#(needed.rawValue)\""#))
            #expect(site.audit.isEmpty && site.purges.ids.isEmpty)
        }
    }

    @Test func `an app of another client is not permitted, whatever the rights`() async throws {
        let site = try ProxySite()
        let reply = try await site.ask(.GET, "v1/transactions/1", app: "com.example.other")
        #expect(reply.status == .forbidden && reply.code == "app_not_permitted" && site.calls.isEmpty)
    }

    @Test func `a client has no rights by default`() async throws {
        let site = try ProxySite(client: Client(name: "shop", apps: .all, keys: []))
        for call in ProxyCall.all {
            let reply = try await site.ask(call, environment: "production")
            #expect(reply.code == "operation_not_permitted", "\(call)")
        }
        #expect(site.calls.isEmpty)
    }

    @Test func `an app without a key is named as the configuration's fault`() async throws {
        let site = try ProxySite(hasKey: { $0 != ProxySite.app })
        let reply = try await site.ask(.GET, "v1/transactions/1")
        #expect(reply.status == .unprocessableContent && reply.code == "server_api_not_configured")
        #expect(site.calls.isEmpty)
    }

    // MARK: - Limits

    @Test func `a call costs what a verification by Apple costs, and a refused one the least`() async throws {
        let minute = RatePolicy(name: "minute", quota: 7, window: .seconds(60))
        let policy = ClientPolicy(subject: .client, rate: minute, costs: [.apple: 3])
        let site = try ProxySite(
            client: ProxySite.client(limits: ClientLimits(policies: [policy]), rights: .everyApp([.read])))
        #expect(try await site.ask(.GET, "v1/transactions/1").status == .ok)
        #expect(try await site.ask(.POST, "v1/notifications/test").status == .forbidden)
        #expect(try await site.ask(.GET, "v1/transactions/1").status == .ok)
        let last = try await site.ask(.GET, "v1/transactions/1")
        #expect(last.status == .tooManyRequests && last.code == "quota_exceeded")
        #expect(last.added.contains { $0.name == .rateLimit })
        #expect(site.calls.count == 2)
    }

    @Test func `a call takes a concurrency slot`() async throws {
        let site = try ProxySite(
            client: ProxySite.client(limits: ClientLimits(concurrency: 1), rights: .everyApp([.read])))
        let slot = InFlightLimit(client: "shop", maximum: 1)
        #expect(site.slots.acquire(slot))
        #expect(try await site.ask(.GET, "v1/transactions/1").status == .tooManyRequests)
        #expect(site.calls.isEmpty)
        site.slots.release(slot)
        #expect(try await site.ask(.GET, "v1/transactions/1").status == .ok)
        #expect(site.slots.acquire(slot), "the call must have released its slot")
    }

    // MARK: - Changes

    /// Each result of a change, and whether Apple may have carried it out.
    private static let results: [(ServerAPIResult, outcome: String, mayHaveTakenEffect: Bool)] = [
        (.answered(ServerAPIAnswer(httpStatus: 202, body: [])), "answered", true),
        (.refused(ServerAPIError(code: 4_000_187), httpStatus: 400, body: []), "refused", false),
        (.refused(ServerAPIError(code: 4_040_010), httpStatus: 404, body: []), "not_found", false),
        (.unauthorized(ServerAPIKeyFixture.key), "unauthorized", false),
        (.unanswered(.upstreamTimeout, mayHaveTakenEffect: true), "upstream_timeout", true),
        (.unanswered(.upstreamReset, mayHaveTakenEffect: true), "upstream_reset", true),
        (.unanswered(.upstreamServerError, mayHaveTakenEffect: true), "upstream_server_error", true),
        (.unanswered(.upstreamUnusableAnswer, mayHaveTakenEffect: true), "upstream_unusable_answer", true),
        (.unanswered(.upstreamContradiction, mayHaveTakenEffect: true), "upstream_contradiction", true),
        (.unanswered(.stopping, mayHaveTakenEffect: true), "stopping", true),
        (
            .unanswered(.upstreamUnavailable, retryAfter: .seconds(9), mayHaveTakenEffect: true),
            "upstream_unavailable", true
        ),
        (.unanswered(.upstreamUnreachable), "upstream_unreachable", false),
        (.unanswered(.upstreamTimeout), "upstream_timeout", false),
        (.unanswered(.circuitOpen, retryAfter: .seconds(3)), "circuit_open", false),
        (.unanswered(.upstreamBudget, retryAfter: .seconds(3)), "upstream_budget", false),
        (.unanswered(.upstreamPaused, retryAfter: .seconds(3)), "upstream_paused", false),
        (.unanswered(.upstreamSaturated, retryAfter: nil), "upstream_saturated", false),
        (.unanswered(.serverAPIKeyRejected, retryAfter: .seconds(60)), "server_api_key_rejected", false),
    ]

    @Test(arguments: ProxyCall.changes, results.indices)
    func `a change is sent and logged once, and purges its transaction unless Apple certainly refused it`(
        call: ProxyCall, index: Int
    ) async throws {
        let (result, outcome, mayHaveTakenEffect) = Self.results[index]
        let site = try ProxySite(answering: result)
        let reply = try await site.ask(call)
        #expect(site.calls.count == 1)
        #expect(site.purges.ids == (mayHaveTakenEffect ? [Self.id] : []))
        #expect(site.purges.apps == (mayHaveTakenEffect ? [ProxySite.app] : []))
        #expect(site.audit.count == 1)
        let line = try #require(site.audit.first)
        let members = [
            #""level":"notice""#, #""client":"shop""#, #""operation":"\#(call.operation.rawValue)""#,
            #""environment":"sandbox""#, #""bundle_id":"com.example.shop""#, #""outcome":"\#(outcome)""#,
            #""request_id":"r-1""#,
        ]
        for member in members { #expect(line.contains(member), "\(line)") }
        for change in ["cancel", "requestRefund"] {
            #expect(line.contains(#""change":"\#(change)""#) == call.target.contains("/\(change)/"), "\(line)")
        }
        #expect(line.contains(#""purge":"done""#) == mayHaveTakenEffect)
        if case .unanswered = result {
            #expect((reply.code == "outcome_unknown") == mayHaveTakenEffect, "\(reply.text)")
            // Nothing must invite a client to repeat a change that may have been carried out.
            if mayHaveTakenEffect { #expect(reply.fields[.retryAfter] == nil) }
        }
    }

    @Test func `the line of a change has Apple's status and error`() async throws {
        let refusal = ServerAPIResult.refused(ServerAPIError(code: 4_000_187), httpStatus: 400, body: [])
        let site = try ProxySite(answering: refusal), call = ProxyCall.changes[0]
        _ = try await site.ask(call)
        #expect(site.audit.first?.contains(#""error_code":4000187"#) == true)
        #expect(site.audit.first?.contains(#""http_status":400"#) == true)
    }

    @Test func `an answer is passed on even if the purge after it failed`() async throws {
        let site = try ProxySite(canPurge: false), call = ProxyCall.changes[0]
        #expect(try await site.ask(call).status == .ok)
        #expect(site.audit.first?.contains(#""purge":"failed""#) == true)
    }

    @Test(arguments: ProxyCall.all.filter { [.reads, .writesForMany].contains($0.operation.effect) })
    func `a change for many, which names no customer, is logged, a read is not, and neither purges`(
        call: ProxyCall
    ) async throws {
        let site = try ProxySite()
        #expect(try await site.ask(call, environment: "production").status == .ok)
        #expect(site.audit.count == (call.operation.effect == .reads ? 0 : 1))
        #expect(site.purges.ids.isEmpty)
    }

    @Test(arguments: ProxyCall.all)
    func `no log line has an ID, a query or a body of a call`(call: ProxyCall) async throws {
        let site = try ProxySite()
        _ = try await site.ask(call, environment: "production")
        let lines = site.log.containing("")
        #expect(lines.contains { $0.contains(#""route":"/v1/apple/{bundle_id}/{environment}/{call}""#) })
        for word in [
            Self.id, "704346128300000123", "MQ2X7Y1D3N", "revision", "6d3f2b0e", "monthly", "extendByDays", "Half the",
        ] {
            #expect(!lines.contains { $0.contains(word) }, "\(lines)")
        }
    }

    // MARK: - Answers

    @Test(
        arguments: [
            (nil, 200, #"{"a": 1}"#), (nil, 202, ""), (4_040_010, 404, #"{"errorCode": 4040010}"#),
            (5_000_000, 500, "{}"),
        ] as [(Int64?, Int, String)])
    func `Apple's status and body are passed on unchanged`(error: Int64?, status: Int, body: String) async throws {
        let bytes = Array(body.utf8)
        let site = try ProxySite(
            answering: error.map { .refused(ServerAPIError(code: $0), httpStatus: status, body: bytes) }
                ?? .answered(ServerAPIAnswer(httpStatus: status, body: bytes)))
        let reply = try await site.ask(.GET, "v1/transactions/1")
        #expect(reply.status.code == status && reply.text == body)
        #expect(reply.fields[.contentType] == (body.isEmpty ? nil : "application/json"))
        #expect(reply.fields[.gatewaySource] == "app_store_server_api")
        #expect(reply.fields[.cacheControl] == "no-store")
    }

    @Test(
        arguments: [
            (.unauthorized(ServerAPIKeyFixture.key), 502, "server_api_key_rejected", nil),
            (.unanswered(.serverAPIKeyRejected, retryAfter: .seconds(60)), 502, "server_api_key_rejected", "60"),
            (.unanswered(.upstreamPaused, retryAfter: .milliseconds(1500)), 429, "upstream_did_not_answer", "2"),
            (.unanswered(.upstreamPaused, retryAfter: nil), 429, "upstream_did_not_answer", "1"),
            (.unanswered(.upstreamBudget, retryAfter: .seconds(72)), 429, "upstream_did_not_answer", "72"),
            (.unanswered(.upstreamBudget, retryAfter: .zero), 429, "upstream_did_not_answer", "1"),
            (.unanswered(.circuitOpen, retryAfter: nil), 503, "upstream_did_not_answer", "1"),
            (.unanswered(.upstreamServerError, retryAfter: nil), 503, "upstream_did_not_answer", "1"),
            (.unanswered(.stopping, retryAfter: nil), 503, "upstream_did_not_answer", "1"),
            (.unanswered(.upstreamContradiction, retryAfter: nil), 502, "upstream_did_not_answer", nil),
            (.unanswered(.upstreamUnusableAnswer, retryAfter: nil), 502, "upstream_did_not_answer", nil),
            (.unanswered(.upstreamUnreachable, retryAfter: nil), 502, "upstream_did_not_answer", nil),
            (.unanswered(.upstreamTimeout, retryAfter: nil), 504, "upstream_did_not_answer", nil),
        ] as [(ServerAPIResult, Int, String, String?)])
    func `a read without an answer is a problem`(
        result: ServerAPIResult, status: Int, code: String, retryAfter: String?
    ) async throws {
        let site = try ProxySite(answering: result)
        let reply = try await site.ask(.GET, "v1/transactions/1")
        #expect(reply.status.code == status && reply.code == code, "\(reply.text)")
        #expect(reply.fields[.retryAfter] == retryAfter)
        if case .unanswered(let reason, _, _) = result {
            #expect(reply.text.contains(#""fault":"\#(reason.rawValue)""#))
        }
    }
}
