// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Gateway

/// A gateway with a scripted upstream, and transaction receipts.
private struct Fixture {
    let upstream: ScriptedUpstream
    let events = EventLog()
    let clock = TestClock(Samples.created)
    let verification: UpstreamVerification
    let service: RememberingService
    var receipt = Samples.transactionReceipt(Period("1", 0..<100))

    init(_ script: ScriptedUpstream.Script, hasSecret: Bool = true, gate: Gate? = nil) {
        upstream = ScriptedUpstream(script, hasSecret: hasSecret, gate: gate)
        verification = UpstreamVerification(
            UpstreamConnection(
                upstream, guards: UpstreamGuards(), lifecycle: UpstreamLifecycle(), timeouts: .unhurried),
            fleet: .embedded(), policy: CachePolicy { 0 }, observe: events.observe, clock: { [clock] in clock.time })
        service = RememberingService(
            VerificationService(verifier: CurrentVerifier(Samples.verifier), apple: verification))
    }

    /// Sends a request `seconds` after the period began.
    func ask(_ mode: Mode = .auto, at seconds: Int64, _ edit: (inout VerificationOptions) -> Void = { _ in })
        async throws -> Answer
    {
        clock.set(Samples.time(seconds))
        var draft = RequestDraft(.evidence(Evidence(receipt: receipt)), mode: mode)
        edit(&draft.options)
        return try await service.verify(draft.request, at: Samples.time(seconds))
    }
}

extension UpstreamAnswer {
    /// Apple's answer in the style of iOS 6: these periods, the last one with a receipt.
    fileprivate init(_ periods: [Period], latestReceipt: [UInt8]?, bundleID: String = Samples.app) {
        let transactions = periods.map { period in
            var transaction = Transaction(productID: period.product, transactionID: period.transactionID)
            transaction.originalTransactionID = period.originalTransactionID
            transaction.purchaseDate = Samples.time(period.start)
            transaction.expiresDate = period.end.map { Samples.time($0) }
            transaction.cancellationDate = period.isCancelled ? Samples.time(period.start + 1) : nil
            return transaction
        }
        self.init(
            environment: .sandbox, bundleID: bundleID, transactions: transactions, renewals: [],
            latestReceipt: latestReceipt, body: Array("{\"status\":0}".utf8))
    }

    /// The subscription was renewed until 1000.
    fileprivate static let renewed = UpstreamAnswer(
        [Period("2", 100..<1000), Period("1", 0..<100)],
        latestReceipt: Samples.transactionReceipt(Period("2", 100..<1000)))
}

private func sandbox(_ answer: UpstreamAnswer) -> ScriptedUpstream.Script {
    [.production: [.otherEnvironment], .sandbox: [.answer(answer)]]
}

@Suite("Transaction receipts and Apple")
struct TransactionReceiptVerificationTests {
    // MARK: Source and environment

    @Test(arguments: [Mode.auto, .apple, .appleFirst]) func `Apple's newer data decides`(mode: Mode) async throws {
        let fixture = Fixture(sandbox(.renewed))
        let answer = try await fixture.ask(mode, at: 150)
        #expect(answer.provenance.source == .apple && answer.environment == .sandbox)
        #expect(answer.subscriptions.map(\.transaction.transactionID) == ["2"])
        #expect(answer.subscriptions.map(\.state) == [.active])
        #expect(fixture.upstream.questions.first?.subject.evidence?.receiptBytes == fixture.receipt)
        #expect(fixture.upstream.asked == [.production, .sandbox])
        #expect(fixture.events.lines.allSatisfy { !$0.hasPrefix("unproven") && !$0.hasPrefix("contradicted") })
    }

    @Test func `without Apple only a root for the sandbox alone gives the environment`() async throws {
        let local = try await Fixture(sandbox(.renewed)).ask(.local, at: 50)
        let withoutSecret = try await Fixture(sandbox(.renewed), hasSecret: false).ask(at: 50)
        let away = try await Fixture([.production: [.failure(.serverError)]]).ask(at: 50)
        for answer in [local, withoutSecret, away] {
            #expect(answer.verdict == .genuine && answer.provenance.source == .local && answer.environment == .sandbox)
            #expect(answer.subscriptions.map(\.state) == [.active])
        }
        let unanswered = try await Fixture([.production: [.failure(.serverError)]]).ask(.apple, at: 50)
        #expect(unanswered.verdict == .undecided(.upstreamDidNotAnswer) && unanswered.environment == nil)
    }

    @Test func `the environment is Apple's in every cache`() async throws {
        let fixture = Fixture(sandbox(.renewed))
        var caches: [Provenance.Cache] = []
        // The near cache lasts 30 seconds, as does the shared one in the sandbox; a stale result, a minute more.
        for second in [150, 151] as [Int64] {
            let answer = try await fixture.ask(at: second)
            #expect(answer.environment == .sandbox)
            caches.append(answer.provenance.cache)
        }
        let otherMode = try await fixture.ask(.apple, at: 152)
        #expect(otherMode.environment == .sandbox && otherMode.provenance.cache == .shared)
        fixture.upstream.rewrite([.production: [.failure(.serverError)]])
        let stale = try await fixture.ask(at: 500)
        #expect(stale.environment == .sandbox && stale.provenance.cache == .stale)
        #expect(caches == [.miss, .near])
    }

    @Test func `the unsigned environment does not choose the endpoint`() async throws {
        for environment in ["Production", "Sandbox", "Moon"] {
            var fixture = Fixture(sandbox(.renewed))
            fixture.receipt = Samples.transactionReceipt(Period("1", 0..<100), environment: environment)
            #expect(try await fixture.ask(.apple, at: 151).environment == .sandbox)
            #expect(fixture.upstream.asked == [.production, .sandbox])
        }
    }

    @Test func `a copy with other unsigned members does not answer for the genuine one, nor opens the breaker`()
        async throws
    {
        var fixture = Fixture([.production: [.refusal(.malformed)]])
        let genuine = fixture.receipt
        fixture.receipt = Samples.transactionReceipt(Period("1", 0..<100), environment: "Moon")
        for second in 151...180 as ClosedRange<Int64> { _ = try await fixture.ask(.apple, at: second) }
        // One call for each request: a refusal of unsigned members is not retried.
        #expect(fixture.upstream.asked.count == 30)
        fixture.upstream.rewrite([.production: [.refusal(.notAuthenticated)]])
        _ = try await fixture.ask(.apple, at: 181)
        fixture.upstream.rewrite(sandbox(.renewed))
        fixture.receipt = genuine
        let answer = try await fixture.ask(.apple, at: 182)
        #expect(answer.verdict == .genuine && answer.provenance.source == .apple && !answer.provenance.isDegraded)
    }

    @Test func `a transaction receipt has another cache key than any app receipt`() throws {
        let receipt = try Samples.verifier.verify(
            transactionReceipt: Samples.transactionReceipt(Period("1", 0..<100)), at: Samples.created)
        let app = try Samples.verified(Samples.receipt(with: [Period("1", 0..<100)]))
        let keys = [SignedItem.transactionReceipt(receipt), .appReceipt(app)].map { item in
            CacheKey(UpstreamRequest(subject: .signed(VerifiedEvidence(item))), at: .verifyReceipt, with: nil)
        }
        #expect(keys[0] != keys[1] && keys[0].environment == .sandbox && keys[0].bundleID == Samples.app)
    }

    @Test func `Apple is asked to leave out old transactions, and the answer keeps those of the receipt`() async throws
    {
        let fixture = Fixture(sandbox(.renewed))
        #expect(try await fixture.ask(at: 150).transactions.map(\.transactionID) == ["2", "1"])
        let latest = try await fixture.ask(at: 150) { $0.excludesOldTransactions = true }
        #expect(
            latest.transactions.map(\.transactionID) == ["2", "1"] && latest.subscriptions.map(\.state) == [.active])
        #expect(fixture.upstream.questions.last?.excludesOldTransactions == true)
    }

    // MARK: Contradictions

    @Test(
        arguments: [
            (.renewed, nil),
            (UpstreamAnswer([Period("1", 0..<100)], latestReceipt: nil, bundleID: "com.example.other"), .otherApp),
            (
                UpstreamAnswer(
                    [Period("1", 0..<100)],
                    latestReceipt: Samples.transactionReceipt(Period("1", 0..<100), ofApp: "com.example.other")),
                .latestReceiptOfOtherApp
            ),
            (
                UpstreamAnswer([Period("1", 0..<100).with(\.product, "other")], latestReceipt: nil), .transactionDiffers
            ),
            (
                UpstreamAnswer(
                    [Period("2", 100..<99_000)], latestReceipt: Samples.transactionReceipt(Period("2", 100..<1000))),
                .transactionDiffers
            ),
            (
                UpstreamAnswer(
                    [Period("2", 100..<1000)], latestReceipt: Samples.transactionReceipt(Period("1", 0..<100))),
                .periodNotSigned
            ),
            // A refunded year does not hide a later month that is not signed.
            (
                UpstreamAnswer(
                    [Period("1", 0..<100).cancelled, Period("2", 20..<60)],
                    latestReceipt: Samples.transactionReceipt(Period("1", 0..<100))),
                .periodNotSigned
            ),
            // An earlier receipt of the same app does not prove the end that is claimed for the one that was sent.
            (
                UpstreamAnswer(
                    [Period("1", 0..<99_000)], latestReceipt: Samples.transactionReceipt(Period("0", 0..<50))),
                .periodNotSigned
            ),
            // A restored period, which has an ID of its own.
            (
                UpstreamAnswer(
                    [Period("0", 0..<100), Period("1", 0..<100)],
                    latestReceipt: Samples.transactionReceipt(Period("0", 0..<100))),
                nil
            ),
        ] as [(UpstreamAnswer, Contradiction?)])
    func `what Apple signed is compared with what the answer says`(
        answer: UpstreamAnswer, contradiction: Contradiction?
    ) async throws {
        let fixture = Fixture(sandbox(answer))
        let reply = try await fixture.ask(at: 50)
        let found = fixture.events.lines.filter { $0.hasPrefix("contradicted") }
        #expect(found == (contradiction.map { ["contradicted sandbox \($0)"] } ?? []))
        #expect(reply.provenance.source == (contradiction == nil ? .apple : .local))
        #expect(!fixture.events.lines.contains("unproven sandbox"))
    }

    @Test(
        arguments: [
            nil, Array("{}".utf8),
            Samples.transactionReceipt(Period("2", 100..<1000), signedBy: ForgedPKI(seed: 2)),
        ] as [[UInt8]?])
    func `an answer without a receipt that verifies is counted`(latestReceipt: [UInt8]?) async throws {
        let fixture = Fixture(sandbox(UpstreamAnswer([Period("2", 100..<1000)], latestReceipt: latestReceipt)))
        #expect(try await fixture.ask(at: 50).provenance.source == .apple)
        #expect(fixture.events.lines.contains("unproven sandbox"))
    }

    // MARK: Boundaries

    @Test func `no answer in any cache lasts beyond the end of the period`() async throws {
        let current = UpstreamAnswer(
            [Period("1", 0..<100)], latestReceipt: Samples.transactionReceipt(Period("1", 0..<100)))
        let fixture = Fixture(sandbox(current))
        for second in [90, 95, 99] as [Int64] {
            let answer = try await fixture.ask(.appleFirst, at: second)
            #expect(answer.subscriptions.map(\.state) == [.active] && answer.freshUntil == Samples.time(100))
        }
        #expect(fixture.upstream.asked.count == 2)
        #expect(try await fixture.ask(.appleFirst, at: 100).provenance.cache == .miss)
        #expect(fixture.upstream.asked.count == 4)
    }

    @Test func `an answer that Apple may have given before the end is not kept after it`() async throws {
        let gate = Gate()
        let current = UpstreamAnswer(
            [Period("1", 0..<100)], latestReceipt: Samples.transactionReceipt(Period("1", 0..<100)))
        let fixture = Fixture([.production: [.answer(current)]], gate: gate)
        async let answer = fixture.ask(.appleFirst, at: 99)
        try await eventually { gate.waitingCount == 1 }
        fixture.clock.set(Samples.time(101))
        gate.open()
        #expect(try await answer.freshUntil <= Samples.time(100))
        #expect(try await fixture.ask(.appleFirst, at: 102).provenance.cache == .miss)
        #expect(fixture.upstream.asked.count == 2)
    }

    @Test func `an answer of Apple is the fallback until a period in it ends`() async throws {
        let fixture = Fixture(sandbox(.renewed))
        _ = try await fixture.ask(.appleFirst, at: 150)
        fixture.upstream.rewrite([.production: [.failure(.serverError)]])
        let before = try await fixture.ask(.appleFirst, at: 999)
        #expect(before.provenance.source == .apple && before.provenance.cache == .stale)
        // Its status says that the subscription is active.
        let after = try await fixture.ask(.appleFirst, at: 1000)
        #expect(after.provenance.source == .local && after.upstreamBody == nil)
        #expect(after.provenance.isDegraded && after.subscriptions.map(\.state) == [.expired])
    }
}
