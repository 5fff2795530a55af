// SPDX-License-Identifier: Apache-2.0

import Gateway
import HTTPClient
import JSON
import NIOHTTP1
import ReceiptForge
import Receipts
import Resilience
import Synchronization
import Testing
import TestSupport

@testable import AppStore

/// The client, with the production transport and local servers.
struct ServerAPIClientTests {
    private typealias Samples = ServerAPISamples
    private typealias Answer = LocalServer.Answer

    private static let info = made { try ServerAPICall(.transactionInfo, [Samples.transactionID]) }
    private static let statuses = made { try ServerAPICall(.subscriptionStatuses, ["1"]) }
    private static let write = made {
        try ServerAPICall(
            method: "PUT", path: "/inApps/v1/transactions/\(Samples.original)/appAccountToken", query: nil,
            body: Array(#"{"appAccountToken":"t"}"#.utf8))
    }

    private static let commerce = made {
        try ServerAPICall(
            method: "POST", path: "/advancedCommerce/v1/subscription/cancel/7", query: nil, body: Array("{}".utf8))
    }

    private static func made(_ make: () throws -> ServerAPICall) -> ServerAPICall {
        guard let call = try? make() else { preconditionFailure("the call is not one of the list") }
        return call
    }

    // MARK: - Requests

    @Test func `a call reaches its host with a token of its own`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .transactionInfo() }) { bench in
            for _ in 0..<2 { #expect(await bench.send(Self.info).answer?.transactions.count == 1) }
            let requests = bench.sandbox.requests
            let path = "/inApps/v1/transactions/\(Samples.transactionID)"
            #expect(requests.map(\.head.uri) == [path, path])
            #expect(requests.map(\.head.method) == [.GET, .GET])
            #expect(
                requests[0].value(of: "Accept") == "application/json" && requests[0].value(of: "Content-Type") == nil)
            let tokens = try requests.map { try Self.token(of: $0) }
            #expect(tokens[0] != tokens[1])
            for token in tokens { #expect(try Samples.isSigned(token, by: Samples.key)) }
            #expect(try Samples.claim("bid", of: tokens[0])?.string == Samples.app)
            #expect(bench.production.requests.isEmpty)
            #expect(bench.events.lines == Array(repeating: "transaction_info sandbox answered", count: 2))
        }
    }

    @Test func `a query and a body arrive as in the call`() async throws {
        try await ServerAPIBench.run(production: { _ in Answer() }, sandbox: { _ in .page([]) }) { bench in
            _ = await bench.send(try ServerAPICall(.transactionHistory, ["1"], query: [(.revision, "a/b=")]))
            #expect(bench.sandbox.requests.map(\.head.uri) == ["/inApps/v2/history/1?revision=a%2Fb%3D"])
            #expect(await bench.send(Self.write, in: .production).answer?.httpStatus == 200)
            let request = try #require(bench.production.requests.first)
            #expect(request.head.method == .PUT && request.body == Array(#"{"appAccountToken":"t"}"#.utf8))
            #expect(request.value(of: "Content-Type") == "application/json")
        }
    }

    @Test func `an app without a key makes no call`() async throws {
        try await ServerAPIBench.run(keys: ServerAPIKeys(ofApps: ["other": Samples.key])) { bench in
            #expect(await bench.send(Self.info).line == "server_api_key_rejected")
            #expect(!bench.client.hasKey(forApp: Samples.app))
            #expect(bench.client.hasKey(forApp: "other") && bench.sandbox.requests.isEmpty)
        }
    }

    @Test func `an app's own key goes before the account's`() async throws {
        let keys = ServerAPIKeys(account: Samples.key, ofApps: [Samples.app: Samples.otherKey])
        try await ServerAPIBench.run(sandbox: { _ in .transactionInfo() }, keys: keys) { bench in
            _ = await bench.send(Self.info)
            let token = try Self.token(of: try #require(bench.sandbox.requests.first))
            #expect(try Samples.isSigned(token, by: Samples.otherKey))
        }
    }

    // MARK: - Replies

    @Test func `an error with a code is returned with its body`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .error(4_040_010) }) { bench in
            guard case .refused(let error, 404, let body) = await bench.send(Self.info) else {
                Issue.record("not refused")
                return
            }
            #expect(error.code == 4_040_010 && body == Array(Answer.error(4_040_010).body.utf8))
            #expect(bench.events.lines == ["transaction_info sandbox not_found"])
        }
    }

    @Test(arguments: [
        (Answer(status: .badRequest, body: "<html>"), "upstream_request_refused"),
        (Answer(status: .found, headers: ["Location": "/"]), "upstream_request_refused"),
        (Answer(status: .internalServerError), "upstream_server_error"),
        (Answer(body: "<html>"), "upstream_unusable_answer"), (Answer(body: "{}"), "upstream_unusable_answer"),
    ])
    func `any other answer is none`(_ answer: LocalServer.Answer, reason: String) async throws {
        try await ServerAPIBench.run(sandbox: { _ in answer }) { bench in
            #expect(await bench.send(Self.info).line == reason)
        }
    }

    @Test func `a tampered answer is reported, and not repeated`() async throws {
        let other = Samples.transaction { $0.bundleID = "com.example.other" }
        try await ServerAPIBench.run(sandbox: { _ in .transactionInfo(other) }) { bench in
            #expect(await bench.send(Self.info).line == "upstream_contradiction")
            #expect(bench.sandbox.requests.count == 1)
            #expect(
                bench.events.lines == ["transaction_info sandbox tampered", "contradicted sandbox other_app"])
        }
    }

    // MARK: - Retries

    @Test(arguments: [
        Answer.error(4_040_002), .error(4_040_004), .error(4_040_006), .error(5_000_000), .error(5_000_001), nil,
        Answer(body: "{"),
    ])
    func `a read is repeated once after a fault that may pass`(_ first: LocalServer.Answer?) async throws {
        try await ServerAPIBench.run(sandbox: LocalServer.inOrder(first, .transactionInfo())) { bench in
            #expect(await bench.send(Self.info).answer != nil)
            #expect(bench.sandbox.requests.count == 2 && bench.events.lines.contains("retried sandbox"))
        }
    }

    @Test(arguments: [4_040_001, 4_040_003, 4_040_005, 4_040_010, 4_000_006, 4_000_000])
    func `a read is not repeated after any other error`(_ code: Int) async throws {
        try await ServerAPIBench.run(sandbox: { _ in .error(code) }) { bench in
            _ = await bench.send(Self.info)
            #expect(bench.sandbox.requests.count == 1)
        }
    }

    @Test(arguments: [
        (Answer.error(4_040_006), "refused 4040006"), (.error(5_000_001), "upstream_server_error"),
        (nil, "upstream_reset"), (Answer(body: "{"), "upstream_unusable_answer"),
    ])
    func `a write is never repeated once it was sent`(_ answer: LocalServer.Answer?, result: String) async throws {
        try await ServerAPIBench.run(
            sandbox: { $0.head.uri.contains("appAccountToken") ? answer : .statuses() }
        ) { bench in
            // Leaves an open connection, on which libcurl would send the write again.
            #expect(await bench.send(Self.statuses).answer != nil)
            #expect(await bench.send(Self.write).line == result)
            #expect(bench.sandbox.requests.map(\.head.method) == [.GET, .PUT])
            #expect(!bench.events.lines.contains("retried sandbox"))
        }
    }

    // MARK: - Pauses

    @Test func `429 pauses the operation of the app for the fleet`() async throws {
        let until = Samples.now.millisecondsSince1970 + 90_000
        let throttled = Answer(status: .tooManyRequests, headers: ["Retry-After": "\(until)"], body: "{}")
        try await ServerAPIBench.run(
            sandbox: { $0.head.uri.contains("/subscriptions/") ? .statuses() : throttled }
        ) { bench in
            let result = await bench.send(Self.info)
            #expect(result.line == "upstream_paused" && result.retryAfter == .seconds(90))
            #expect(bench.fleetState.lines == ["sandbox transaction_info 90.0 seconds"])
            let again = await bench.send(Self.info)
            #expect(again.line == "upstream_paused" && (again.retryAfter ?? .zero) > .seconds(60))
            #expect(await bench.send(Self.statuses).answer != nil)
            #expect(bench.sandbox.requests.count == 2)
            #expect(
                bench.events.lines == [
                    "transaction_info sandbox throttled", "rejected sandbox upstream_paused",
                    "transaction_info sandbox paused", "subscription_statuses sandbox answered",
                ])
        }
    }

    @Test func `a call that waited for a slot respects a pause of its quota, and is not charged`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .statuses() }) { bench in
            let endpoint = UpstreamEndpoint(.serverAPI, .sandbox), slots = bench.guards[endpoint]
            var passes: [UpstreamGuard.Pass] = []
            while case let health = bench.guards.health(of: endpoint), health.inFlight < health.concurrencyLimit {
                passes.append(try await slots.acquire(forCallBy: .now + .seconds(3600), limiter: bench.limiter))
            }
            async let result = bench.send(Self.info)
            try await eventually { bench.guards.health(of: endpoint).waiting == 1 }
            bench.guards.pause(bench.quota(of: Self.info, in: .sandbox), for: .seconds(600))
            for pass in passes { slots.release(pass, .neutral) { _ in } }
            let line = await result.line
            #expect(line == "upstream_paused" && bench.sandbox.requests.isEmpty)
            #expect(bench.limiter.charges.allSatisfy { $0.isEmpty })
        }
    }

    @Test func `a pause from another node holds here, for this operation, app and environment`() async throws {
        try await ServerAPIBench.run(production: { _ in .error(4_040_010) }, sandbox: { _ in .statuses() }) { bench in
            bench.guards.pause(bench.quota(of: Self.info, in: .sandbox), for: .seconds(600))
            #expect(await bench.send(Self.info).line == "upstream_paused")
            #expect(await bench.send(Self.info, in: .production).line == "refused 4040010")
            #expect(await bench.send(Self.statuses).answer != nil)
        }
    }

    @Test(arguments: [-1800, 0, 1800] as [Int64])
    func `the end of a pause is in Apple's time, also if this node's clock is wrong`(ahead: Int64) async throws {
        let apple = Samples.now.advanced(by: .seconds(-ahead))
        let date = HTTPDate.text(apple)
        let end = apple.millisecondsSince1970 + 600_000
        let throttled = Answer(status: .tooManyRequests, headers: ["Retry-After": "\(end)", "Date": date], body: "{}")
        try await ServerAPIBench.run(sandbox: { _ in throttled }) { bench in
            let pause = try #require(await bench.send(Self.info).retryAfter)
            // `Date` has whole seconds.
            #expect(pause >= .seconds(600) && pause <= .seconds(601))
        }
    }

    @Test func `503 with a wait pauses the host`() async throws {
        let unavailable = Answer(status: .serviceUnavailable, headers: ["Retry-After": "70"])
        try await ServerAPIBench.run(sandbox: { _ in unavailable }) { bench in
            let result = await bench.send(Self.info)
            #expect(result.line == "upstream_unavailable" && result.retryAfter == .seconds(70))
            let other = await bench.send(Self.statuses)
            #expect(other.line == "upstream_paused" && (other.retryAfter ?? .zero) > .seconds(60))
            #expect(bench.sandbox.requests.count == 1)
            #expect(bench.fleetState.lines == ["server_api:sandbox pause(70.0 seconds)"])
        }
    }

    // MARK: - Budget

    @Test func `a call is charged before it is sent, and one without evidence twice`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .transactionInfo() }) { bench in
            _ = await bench.send(Self.info)
            _ = await bench.send(Self.info, share: .withoutEvidence)
            let names = bench.limiter.charges.map { $0.map(\.bucket.policy.name) }
            #expect(names == [["transaction_info"], ["transaction_info", "transaction_info_lookup"]])
            let subjects = Set(bench.limiter.charges.joined().map(\.bucket.subject))
            #expect(subjects == ["server_api:sandbox:com.example.forge"])
        }
    }

    @Test func `a call beyond the budget is not sent`() async throws {
        let status = try ServerAPICall(
            method: "GET", path: "/inApps/v1/notifications/test/t", query: nil, body: [])
        try await ServerAPIBench.run(
            sandbox: { _ in Answer(body: "{}") }, budget: ServerAPIBudget(share: 0.01)
        ) { bench in
            #expect(await bench.send(status).answer != nil)
            let result = await bench.send(status)
            #expect(result.line == "upstream_budget" && (result.retryAfter ?? .zero) > .seconds(600))
            #expect(bench.sandbox.requests.count == 1)
            #expect(bench.events.lines.suffix(1) == ["test_notification_status sandbox budget"])
        }
    }

    // MARK: - Keys and clocks

    @Test func `Apple's clock is followed, and a token it rejected is made anew`() async throws {
        // Ten minutes ahead of this node.
        let date = HTTPDate.text(Samples.now.advanced(by: .seconds(600)))
        let script: LocalServer.Script = { request in
            let issued = (try? Self.token(of: request)).flatMap { try? Samples.claim("iat", of: $0)?.number?.integer }
            let isAccepted = (issued ?? 0) > Samples.now.millisecondsSince1970 / 1000 + 300
            var answer = isAccepted ? Answer.transactionInfo() : .unauthorized
            answer.headers.add(name: "Date", value: date)
            return answer
        }
        try await ServerAPIBench.run(sandbox: script) { bench in
            #expect(await bench.send(Self.info).answer != nil)
            #expect(await bench.send(Self.info).answer != nil)
            #expect(bench.sandbox.requests.count == 3)
            let skew = bench.client.clockSkew(in: .sandbox)
            #expect(skew > .seconds(598) && skew <= .seconds(600) && bench.client.clockSkew(in: .production) == .zero)
            let warnings = bench.logs.lines.filter { $0.hasPrefix("warning") }
            #expect(warnings.count == 1 && warnings[0].contains("skew_seconds=599"))
        }
    }

    @Test func `a 401 with the right time is not repeated, and pauses nothing by itself`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .unauthorized }) { bench in
            for _ in 0..<2 { #expect(await bench.send(Self.info).line == "unauthorized") }
            #expect(bench.sandbox.requests.count == 2 && bench.client.pausedKeys.isEmpty)
        }
    }

    @Test func `a paused key makes no call, and is reported once`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .transactionInfo() }) { bench in
            for _ in 0..<2 { bench.client.pause(Samples.key, forApp: Samples.app, in: .sandbox) }
            let result = await bench.send(Self.info)
            #expect(result.line == "server_api_key_rejected" && (result.retryAfter ?? .zero) > .seconds(30))
            #expect(bench.sandbox.requests.isEmpty)
            #expect(bench.client.pausedKeys.map(\.bundleID) == [Samples.app])
            let errors = bench.logs.lines.filter { $0.hasPrefix("error") }
            #expect(errors.count == 1 && errors[0].contains("bundle_id=com.example.forge key_id=TESTKEY001"))
            #expect(errors[0].contains("upstream=sandbox"))
        }
    }

    @Test func `a key that one host rejects is used at the other`() async throws {
        try await ServerAPIBench.run(production: { _ in .error(4_040_010) }, sandbox: { _ in .unauthorized }) { bench in
            let request = ServerAPIRequest(
                Self.info, bundleID: Samples.app, environment: .sandbox, share: .withoutEvidence)
            for line in ["unauthorized", "server_api_key_rejected"] {
                #expect(await bench.client.sendToNamedHost(request, deadline: .now + .seconds(3600)).line == line)
            }
            #expect(bench.sandbox.requests.count == 1)
            #expect(await bench.send(Self.info, in: .production).line == "refused 4040010")
        }
    }

    @Test func `a 401 of an API that Apple opens to single apps does not pause the key for other calls`() async throws {
        try await ServerAPIBench.run(sandbox: { $0.head.method == .POST ? .unauthorized : .transactionInfo() }) {
            bench in
            let request = ServerAPIRequest(Self.commerce, bundleID: Samples.app, environment: .sandbox, share: .full)
            for _ in 0..<2 {
                #expect(
                    await bench.client.sendToNamedHost(request, deadline: .now + .seconds(3600)).line == "unauthorized")
            }
            #expect(bench.client.pausedKeys.isEmpty)
            #expect(await bench.send(Self.info).answer != nil)
        }
    }

    @Test(arguments: [503, 500, 429])
    func `a failure of an API that Apple opens to single apps is its own`(status: Int) async throws {
        let failure = Answer(status: .init(statusCode: status), headers: status == 500 ? [:] : ["Retry-After": "60"])
        try await ServerAPIBench.run(sandbox: { $0.head.method == .POST ? failure : .transactionInfo() }) { bench in
            for _ in 0..<20 {
                #expect(await bench.send(Self.commerce).answer == nil)
                #expect(await bench.send(Self.info).answer != nil)
            }
        }
    }

    @Test func `the key that was rejected is paused, also if it was replaced meanwhile`() async throws {
        let next = ServerAPIKey(
            issuerID: Samples.key.issuerID, keyID: "TESTKEY002", privateKey: Samples.otherKey.privateKey)
        let keys = Mutex(ServerAPIKeys(account: Samples.key))
        let script: LocalServer.Script = { _ in
            keys.withLock { $0.account = next }
            return .unauthorized
        }
        try await ServerAPIBench.run(sandbox: script, currentKeys: { keys.withLock(\.self) }) { bench in
            let request = ServerAPIRequest(
                Self.info, bundleID: Samples.app, environment: .sandbox, share: .withoutEvidence)
            _ = await bench.client.sendToNamedHost(request, deadline: .now + .seconds(3600))
            // The key in use is another one, and its first call reaches Apple.
            #expect(bench.client.pausedKeys.isEmpty)
            #expect(await bench.send(Self.info).line == "unauthorized" && bench.sandbox.requests.count == 2)
            keys.withLock { $0.account = Samples.key }
            #expect(bench.client.pausedKeys.map(\.keyID) == [Samples.key.keyID])
        }
    }

    // MARK: - Log

    @Test func `the log has a line for each call, without app, ID, token or body`() async throws {
        let echo: LocalServer.Script = { request in
            let token = (try? Self.token(of: request)) ?? ""
            return Answer(
                status: .notFound, headers: ["x-apple-jingle-correlation-key": String(token.suffix(40))],
                body: Answer.error(4_040_010).body)
        }
        try await ServerAPIBench.run(
            production: { _ in Answer(status: .unauthorized, headers: ["x-apple-jingle-correlation-key": "ABCDEF"]) },
            sandbox: echo
        ) { bench in
            _ = await bench.send(Self.info, in: .sandbox)
            _ = await bench.send(Self.info, in: .production)
            let lines = bench.logs.lines
            #expect(lines.count == 2)
            #expect(lines[0].contains("correlation_key=(contains request data)"))
            #expect(lines[0].contains("error_code=4040010") && lines[0].contains("http_status=404"))
            #expect(lines[1].contains("correlation_key=ABCDEF") && lines[1].contains("operation=transaction_info"))
            let tokens = try (bench.sandbox.requests + bench.production.requests).map { try Self.token(of: $0) }
            for secret in [Samples.app, Samples.transactionID]
                + tokens.flatMap({ $0.split(separator: ".").map(String.init) })
            {
                #expect(lines.allSatisfy { !$0.contains(secret) })
            }
        }
    }

    private static func token(of request: LocalServer.Request) throws -> String {
        let field = try #require(request.value(of: "Authorization"))
        let prefix = "Bearer "
        return try #require(field.hasPrefix(prefix) ? String(field.dropFirst(prefix.count)) : nil)
    }
}

extension ServerAPIBench {
    fileprivate func quota(of call: ServerAPICall, in environment: UpstreamEnvironment) -> ServerAPIQuota {
        ServerAPIQuota(bundleID: ServerAPISamples.app, environment: environment, operation: call.operation)
    }
}

extension ServerAPIResult {
    var answer: ServerAPIAnswer? {
        if case .answered(let answer) = self { answer } else { nil }
    }

    /// The result by the names of the API.
    fileprivate var line: String {
        switch self {
        case .answered: "answered"
        case .refused(let error, _, _): "refused \(error.code)"
        case .unauthorized: "unauthorized"
        case .unanswered(let reason, _, _): reason.rawValue
        }
    }

    fileprivate var retryAfter: Duration? {
        if case .unanswered(_, let retryAfter, _) = self { retryAfter } else { nil }
    }
}
