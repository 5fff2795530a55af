// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import NIOHTTP1
import Receipts
import Resilience
import Testing

@testable import AppStore

struct ServerAPINotificationHistoryTests {
    private typealias Samples = ServerAPISamples
    private typealias Answer = LocalServer.Answer

    private static func history(_ bench: ServerAPIBench) -> ServerAPINotificationHistory {
        ServerAPINotificationHistory(bench.client, timeout: .seconds(3600))
    }

    private static func query(_ environment: Environment = .sandbox) -> NotificationHistoryQuery {
        var query = NotificationHistoryQuery(
            bundleID: Samples.app, environment: environment, start: Timestamp(millisecondsSince1970: 1000),
            end: Timestamp(millisecondsSince1970: 2000))
        query.onlyFailures = true
        return query
    }

    /// Apple's answer with a page of notifications.
    private static func page(_ payloads: [String], rest: String = "") -> Answer {
        let items = payloads.map { #"{"signedPayload":"\#($0)","sendAttempts":[]}"# }.joined(separator: ",")
        return Answer(body: #"{"notificationHistory":[\#(items)]\#(rest)}"#)
    }

    // MARK: - Pages

    @Test func `a page is requested from the environment's host, and the next one by its token`() async throws {
        let script = LocalServer.inOrder(
            Self.page(["a.b.c"], rest: #","hasMore":true,"paginationToken":"t/1""#),
            Self.page(["d.e.f"], rest: #","hasMore":false,"paginationToken":"t/2""#))
        try await ServerAPIBench.run(sandbox: script) { bench in
            let first = try await Self.history(bench).page(Self.query(), after: nil)
            #expect(first == NotificationHistoryPage([Array("a.b.c".utf8)], next: "t/1"))
            let last = try await Self.history(bench).page(Self.query(), after: first.next)
            #expect(last == NotificationHistoryPage([Array("d.e.f".utf8)], next: nil))
            let requests = bench.sandbox.requests
            #expect(
                requests.map { "\($0.head.method.rawValue) \($0.head.uri)" } == [
                    "POST /inApps/v1/notifications/history",
                    "POST /inApps/v1/notifications/history?paginationToken=t%2F1",
                ])
            #expect(
                requests.map { String(decoding: $0.body, as: UTF8.self) }
                    == [String](
                        repeating: #"{"startDate":1000,"endDate":2000,"onlyFailures":true}"#, count: 2))
            #expect(bench.production.requests.isEmpty)
        }
    }

    @Test func `production has its own host`() async throws {
        try await ServerAPIBench.run(production: { _ in Self.page([]) }) { bench in
            let page = try await Self.history(bench).page(Self.query(.production), after: nil)
            #expect(page == NotificationHistoryPage([]) && bench.sandbox.requests.isEmpty)
        }
    }

    @Test func `a notification that is not genuine does not withhold the others`() async throws {
        let genuine = Samples.notification()
        try await ServerAPIBench.run(sandbox: { _ in Self.page(["a.b.c", genuine]) }) { bench in
            let page = try await Self.history(bench).page(Self.query(), after: nil)
            #expect(page.signedPayloads == [Array("a.b.c".utf8), Array(genuine.utf8)])
            // A client of the proxy gets no such page.
            let body = #"{"startDate":0,"endDate":0,"onlyFailures":false}"#
            let call = try ServerAPICall(.notificationHistory, body: Array(body.utf8))
            guard case .unanswered(.upstreamContradiction, _, _) = await bench.send(call) else {
                Issue.record("the proxy's page was not verified")
                return
            }
        }
    }

    @Test(arguments: ["", #","paginationToken":"t""#, #","paginationToken":null"#])
    func `pages without a new position do not go on for ever`(token: String) async throws {
        try await ServerAPIBench.run(sandbox: { _ in Self.page([], rest: #","hasMore":true"# + token) }) { bench in
            await #expect(throws: DegradedReason.upstreamUnusableAnswer) {
                try await Self.history(bench).page(Self.query(), after: "t")
            }
        }
    }

    @Test func `a token of another form than Apple's is not sent`() async throws {
        try await ServerAPIBench.run { bench in
            await #expect(throws: DegradedReason.upstreamUnusableAnswer) {
                try await Self.history(bench).page(Self.query(), after: "a token")
            }
            #expect(bench.sandbox.requests.isEmpty)
        }
    }

    // MARK: - Faults

    @Test(
        arguments: [
            (4_040_003, .serverAPIKeyRejected), (4_040_004, .upstreamUnavailable),
            (4_000_014, .upstreamRequestRefused), (4_290_000, .upstreamPaused),
        ] as [(Int, DegradedReason)])
    func `an error of Apple's has its reason`(code: Int, reason: DegradedReason) async throws {
        try await ServerAPIBench.run(sandbox: { _ in .error(code) }) { bench in
            await #expect(throws: reason) { try await Self.history(bench).page(Self.query(), after: nil) }
        }
    }

    @Test func `an app that was never released pauses no key`() async throws {
        try await ServerAPIBench.run(production: { _ in .unauthorized }) { bench in
            for _ in 0..<3 {
                await #expect(throws: DegradedReason.serverAPIKeyRejected) {
                    try await Self.history(bench).page(Self.query(.production), after: nil)
                }
            }
            #expect(bench.client.pausedKeys.isEmpty && bench.production.requests.count == 3)
        }
    }

    @Test func `an app without a key has no history`() async throws {
        try await ServerAPIBench.run(keys: ServerAPIKeys(ofApps: [Samples.app: Samples.key])) { bench in
            #expect(Self.history(bench).isAvailable(forApp: Samples.app))
            #expect(!Self.history(bench).isAvailable(forApp: "com.example.other"))
        }
    }

    @Test func `recovery leaves most of the budget to others`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in Self.page([]) }) { bench in
            _ = try await Self.history(bench).page(Self.query(), after: nil)
            #expect(
                bench.limiter.charges.map { $0.map(\.bucket.policy.name) } == [
                    ["notification_history", "notification_history_lookup"]
                ])
        }
    }

    // MARK: - Test notifications

    private static let uuid = "7a1c6f0e-3b52-4d8e-9f10-5c2b8d4e6a71"

    @Test func `a test notification has the identity of its token`() async throws {
        let script: LocalServer.Script = { _ in
            Answer(body: #"{"testNotificationToken":"\#(Self.uuid)_1795430000000"}"#)
        }
        try await ServerAPIBench.run(sandbox: script) { bench in
            let test = try await Self.history(bench).requestTest(Samples.app, .sandbox)
            #expect(test.identity == NotificationIdentity(.sandbox, uuid: Self.uuid))
            #expect(bench.sandbox.requests.map(\.head.uri) == ["/inApps/v1/notifications/test"])
            #expect(bench.sandbox.requests[0].body.isEmpty)
        }
    }

    @Test func `without a URL in App Store Connect there is no test`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .error(4_040_007) }) { bench in
            await #expect(throws: TestNotificationFault.noURL) {
                try await Self.history(bench).requestTest(Samples.app, .sandbox)
            }
            // Apple may have sent it.
            #expect(bench.sandbox.requests.count == 1)
        }
    }

    @Test func `an answer without a token is none`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in Answer(body: "{}") }) { bench in
            await #expect(throws: TestNotificationFault.unanswered(.upstreamUnusableAnswer)) {
                try await Self.history(bench).requestTest(Samples.app, .sandbox)
            }
        }
    }

    private static let test = TestNotification(bundleID: Samples.app, environment: .sandbox, token: "\(uuid)_1")

    @Test func `Apple's attempts to deliver a test are known`() async throws {
        let attempts =
            #"[{"attemptDate":5,"sendAttemptResult":"TIMED_OUT"},{"attemptDate":6,"sendAttemptResult":"SUCCESS"}]"#
        let script: LocalServer.Script = { _ in
            Answer(body: #"{"signedPayload":"\#(Samples.notification())","sendAttempts":\#(attempts)}"#)
        }
        try await ServerAPIBench.run(sandbox: script) { bench in
            let attempts = try await Self.history(bench).attempts(of: Self.test)
            #expect(
                attempts == [
                    SendAttempt(date: Timestamp(millisecondsSince1970: 5), result: "TIMED_OUT"),
                    SendAttempt(date: Timestamp(millisecondsSince1970: 6), result: "SUCCESS"),
                ])
            #expect(bench.sandbox.requests.map(\.head.uri) == ["/inApps/v1/notifications/test/\(Self.uuid)_1"])
        }
    }

    @Test func `a test that Apple does not know yet is not found`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .error(4_040_008) }) { bench in
            await #expect(throws: TestNotificationFault.notFound) {
                try await Self.history(bench).attempts(of: Self.test)
            }
        }
    }
}
