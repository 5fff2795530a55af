// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts
import Synchronization
import Testing

@testable import AppStore
@testable import Customers
@testable import Server
@testable import ServerTestSupport

struct BackfillTests {
    private static let app = "com.example.forge"
    private static let now = Timestamp(millisecondsSince1970: 1_795_430_000_000)

    /// A history that fails in the named ways before it answers, and has one notification that is not genuine per page.
    private final class FailingHistory: NotificationHistory {
        /// The faults of the coming attempts; nil for a page.
        private let faults: Mutex<[Environment: [DegradedReason?]]>
        private let read = Mutex<[NotificationHistoryQuery]>([])
        private let tried = Mutex<[Environment: Int]>([:])

        init(_ faults: [Environment: [DegradedReason?]] = [:]) { self.faults = Mutex(faults) }

        var queries: [NotificationHistoryQuery] { read.withLock(\.self) }
        var attempts: [Environment: Int] { tried.withLock(\.self) }

        func isAvailable(forApp bundleID: String) -> Bool { true }

        func page(
            _ query: NotificationHistoryQuery, after token: String?
        ) async throws(DegradedReason) -> NotificationHistoryPage {
            tried.withLock { $0[query.environment, default: 0] += 1 }
            let fault = faults.withLock { faults in
                faults[query.environment].flatMap { $0.isEmpty ? nil : faults[query.environment]?.removeFirst() ?? nil }
            }
            if let fault { throw fault }
            read.withLock { $0.append(query) }
            return NotificationHistoryPage([Array("a.b.c".utf8)])
        }
    }

    /// The lines and waits of a backfill.
    private final class Record: Sendable {
        let lines = Mutex<[String]>([])
        let delays = Mutex<[Duration]>([])

        func backfill(_ history: FailingHistory) -> Backfill {
            let store = EmbeddedNotificationStore(isPermitted: true, maximumBytes: 1 << 20) { BackfillTests.now }
            let apps = NotificationApps(
                isConfigured: { _ in true }, appAppleID: { _ in nil }, isSharedSecret: { _, _ in false })
            let intake = NotificationIntake(
                NotificationVerifier(CurrentVerifier(ReceiptVerifier()), apps: apps), queue: store, observe: { _ in },
                onStored: { _ in })
            return Backfill(
                history: history, intake: intake, clock: { BackfillTests.now },
                sleep: { delay in self.delays.withLock { $0.append(delay) } },
                report: { line in self.lines.withLock { $0.append(line) } })
        }

        var text: String { lines.withLock { $0.joined() } }
    }

    private static let both = [Environment.production, .sandbox].map {
        Backfill.Subject(bundleID: app, environment: $0)
    }

    private static func daysAgo(_ days: Int64) -> Timestamp { now.advanced(by: .seconds(-days * 86_400)) }

    // MARK: - Reading

    @Test func `the whole time is read in parts, and summed up`() async {
        let history = FailingHistory(), record = Record()
        var summaries: [String] = []
        let isComplete = await record.backfill(history).run(Self.both, since: Self.daysAgo(2)) { summaries.append($0) }
        #expect(isComplete && record.delays.withLock(\.isEmpty))
        #expect(
            summaries == [
                "com.example.forge production: 4 pages, 0 new, 0 known, 4 rejected",
                "com.example.forge sandbox: 4 pages, 0 new, 0 known, 4 rejected",
            ])
        let production = history.queries.filter { $0.environment == .production && !$0.onlyFailures }
        #expect(production.first?.start == Self.daysAgo(2) && production.last?.end == Self.now)
        #expect(production.count == 2 && production[0].end == production[1].start)
    }

    @Test func `a beginning before Apple's history is moved, and reported`() async {
        let history = FailingHistory(), record = Record()
        _ = await record.backfill(history).run([Self.both[1]], since: Self.daysAgo(31)) { _ in }
        let start = Self.daysAgo(30).advanced(by: .seconds(3600))
        #expect(history.queries.first?.start == start)
        #expect(record.text == "com.example.forge sandbox: Apple's history begins at \(start)\n")
    }

    // MARK: - Faults

    @Test func `faults that may pass are waited for`() async {
        let history = FailingHistory([.production: [.upstreamBudget, .upstreamBudget, .upstreamTimeout]])
        let record = Record()
        #expect(await record.backfill(history).run([Self.both[0]], since: Self.daysAgo(1)) { _ in })
        #expect(record.delays.withLock(\.self) == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(record.text.contains("lookup_share") && record.text.contains("upstream_timeout"))
    }

    @Test func `the waits without a page end after five minutes`() {
        var delays = BackfillDelays(), total = Duration.zero, longest = Duration.zero
        while let delay = delays.next() { (total, longest) = (total + delay, max(longest, delay)) }
        #expect(longest == .seconds(30) && total == .seconds(301) && delays.attempts == 15)
        #expect(delays.next() == nil)
    }

    @Test func `an Apple that does not answer is waited for once, and each further history is tried once`() async {
        let silence = [DegradedReason](repeating: .upstreamTimeout, count: 1000)
        let history = FailingHistory([.production: silence, .sandbox: silence]), record = Record()
        #expect(await !record.backfill(history).run(Self.both, since: Self.daysAgo(1)) { _ in })
        #expect(record.delays.withLock(\.count) == 14 && history.attempts == [.production: 15, .sandbox: 1])
        #expect(record.text.contains("attempt 1 of 15 failed, next in 1 s: "), "\(record.text)")
        for environment in ["production", "sandbox"] {
            let command =
                "notifications backfill --since \(Self.daysAgo(1)) --app \(Self.app) --environment \(environment)\n"
            #expect(
                record.text.contains("did not answer 15 times in a row. To continue later:\nreceipt-gateway \(command)")
            )
        }
    }

    @Test func `a page ends the count of failed attempts`() async {
        let failures = [DegradedReason](repeating: .upstreamTimeout, count: 14)
        let history = FailingHistory([.production: failures, .sandbox: failures]), record = Record()
        #expect(await record.backfill(history).run(Self.both, since: Self.daysAgo(1)) { _ in })
        #expect(record.delays.withLock(\.count) == 28 && !record.text.contains("To continue"))
    }

    @Test func `a history that cannot be read does not keep the others from it`() async {
        let history = FailingHistory([.production: [.upstreamRequestRefused]]), record = Record()
        #expect(await !record.backfill(history).run(Self.both, since: Self.daysAgo(1)) { _ in })
        #expect(record.delays.withLock(\.isEmpty) && history.queries.allSatisfy { $0.environment == .sandbox })
        #expect(record.text.contains("stopped after \(Self.daysAgo(1))") && !record.text.contains("To continue"))
    }

    @Test(arguments: [false, true])
    func `an app that one environment does not know is no fault, and one that none knows is`(isInNone: Bool) async {
        let unknown = isInNone ? [Environment.production, .sandbox] : [.production]
        let history = FailingHistory(Dictionary(uniqueKeysWithValues: unknown.map { ($0, [.serverAPIKeyRejected]) }))
        let record = Record()
        #expect(await record.backfill(history).run(Self.both, since: Self.daysAgo(1)) { _ in } != isInNone)
        #expect(record.text.contains("nothing was read") == isInNone)
    }

    @Test func `a key that Apple rejects after the first page is a fault, whatever the other environment says`() async {
        // The span before the last 30 days is another page than the rest.
        let history = FailingHistory([.production: [nil, .serverAPIKeyRejected]]), record = Record()
        #expect(await !record.backfill(history).run(Self.both, since: Self.daysAgo(90)) { _ in })
        #expect(record.text.contains("stopped after") && record.text.contains("To continue later:\nreceipt-gateway"))
        #expect(!record.text.contains("nothing was read") && !record.text.contains("times in a row"))
    }

    // MARK: - Progress

    @Test func `progress is shown once in a second`() throws {
        let start = ContinuousClock.now
        var progress = BackfillProgress(Self.both[0], since: Self.daysAgo(1), at: start)
        progress.record(Self.counts(pages: 3, stored: 5))
        #expect(progress.line(at: start + .milliseconds(999)) == nil)
        let span = try #require(
            RecoverySpan(from: Self.daysAgo(1), to: Self.now, in: .production, at: Self.now))
        progress.finish(span)
        progress.record(Self.counts(pages: 1, stored: 15))
        #expect(
            progress.line(at: start + .seconds(2))
                == "com.example.forge production: read up to \(Self.now), 4 pages, 20 new, 0 known, 0 rejected, 10 per second\n"
        )
        #expect(progress.line(at: start + .milliseconds(2999)) == nil)
        #expect(progress.line(at: start + .milliseconds(3000)) != nil)
    }

    private static func counts(pages: Int, stored: Int) -> HistoryReading.Counts {
        var counts = HistoryReading.Counts()
        (counts.pages, counts.stored) = (pages, stored)
        return counts
    }
}

struct TestDeliveryTests {
    private static func attempts(_ results: String...) -> TestDelivery.Result {
        .missing(results.map { SendAttempt(date: Timestamp(millisecondsSince1970: 0), result: $0) })
    }

    @Test(
        arguments: [
            (.arrived(after: .seconds(2)), "arrived, 2 s"), (.notSent(.noURL), "App Information"),
            (.notSent(.unanswered(.serverAPIKeyRejected)), "--environment sandbox"),
            (.notSent(.unanswered(.upstreamTimeout)), "upstream_timeout"),
            (.missing([]), "not tried"), (.storeUnreachable, "doctor"),
            (.unexplained(.unanswered(.upstreamPaused)), "upstream_paused"),
            (attempts("SUCCESS"), "their Redis"),
            (attempts("TIMED_OUT", "UNSUCCESSFUL_HTTP_RESPONSE_CODE"), "1970-01-01T00:00:00Z  TIMED_OUT\n"),
            (attempts("TIMED_OUT", "UNSUCCESSFUL_HTTP_RESPONSE_CODE"), "/apple/notifications"),
            (attempts("TLS_ISSUE"), "certificate"), (attempts("NO_RESPONSE"), "17.0.0.0/8"),
            (attempts("PREMATURE_CLOSE"), "load balancer"), (attempts("CIRCULAR_REDIRECT"), "redirects"),
            (attempts("OF_THE_FUTURE"), "OF_THE_FUTURE"),
        ] as [(TestDelivery.Result, String)])
    func `each result says what to do`(result: TestDelivery.Result, part: String) {
        #expect(result.text.contains(part))
        #expect(result.isSuccess == result.text.contains("has arrived, 2 s"))
    }

    @Test func `a test has the partition of the notification that arrives`() {
        let test = TestNotification(
            bundleID: "com.example.forge", environment: .sandbox, token: "7A1C6F0E-3B52-4D8E-9F10-5C2B8D4E6A71_1")
        let arrived = NotificationIdentity(.sandbox, uuid: "7a1c6f0e-3b52-4d8e-9f10-5c2b8d4e6a71")
        #expect(test.identity == arrived)
    }
}
