// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Gateway

/// Evidence that the App Store Server API is asked about.
struct ServerAPIEvidenceTests {
    private static let original = SignedSamples.original
    private static let known: [String: [UpstreamResult]] = [original: [.answered(.customer(original))]]

    private static func request(_ mode: Mode = .auto) -> VerificationRequest {
        VerificationRequest([SignedSamples.transaction()], mode: mode)
    }

    // MARK: - Requests

    @Test func `signed transactions are refreshed by the ID of their chain`() async throws {
        let fixture = CustomerFixture(Self.known)
        #expect(try await fixture.ask(Self.request(), at: 10).provenance.source == .local)
        let answer = try await fixture.ask(Self.request(), at: 250)
        #expect(answer.provenance == Provenance(source: .serverAPI, cache: .miss, verifiedAt: SignedSamples.time(250)))
        #expect(answer.verdict == .genuine && answer.subscriptions.map(\.state) == [.active])
        let request = try #require(fixture.customers.requests.first)
        #expect(request.transactionID == Self.original && request.environment == .sandbox && request.hasEvidence)
        #expect(try await fixture.ask(Self.request(), at: 260).provenance.cache == .shared)
        #expect(fixture.upstream.asked.isEmpty && fixture.customers.asked.count == 1)
    }

    @Test func `a client that wants the history gets it although the evidence is new`() async throws {
        let wanted = Self.request().with { $0.wantsHistory = true }
        let fixture = CustomerFixture(Self.known)
        let answer = try await fixture.ask(wanted, at: 10)
        #expect(answer.provenance.source == .serverAPI && answer.verdict == .genuine)
        #expect(try await fixture.ask(wanted, at: 20).provenance.cache == .shared)
        #expect(fixture.customers.asked == [Self.original])
        let keyless = CustomerFixture(Self.known, apps: [])
        let local = try await keyless.ask(wanted, at: 10)
        #expect(local.provenance.source == .local && local.verdict == .genuine && !local.provenance.isDegraded)
    }

    /// StoreKit signs old periods again, on a new device.
    @Test func `an ended period does not suffice for the present state, however new its signature is`() async throws {
        let ended = SignedSamples.transaction { contents in
            (contents.transactionID, contents.originalTransactionID) = (Self.original, Self.original)
            (contents.purchaseDate, contents.expiresDate) = (SignedSamples.time(-360), SignedSamples.time(-60))
        }
        func answer(about transaction: [UInt8], wantsPresentState: Bool) async throws -> Answer {
            let request = VerificationRequest([transaction]).with { $0.wantsPresentState = wantsPresentState }
            return try await CustomerFixture(Self.known).ask(request, at: 10)
        }
        let alone = try await answer(about: ended, wantsPresentState: false)
        #expect(alone.provenance.source == .local && alone.subscriptions.map(\.state) == [.expired])
        let present = try await answer(about: ended, wantsPresentState: true)
        #expect(present.provenance.source == .serverAPI && present.verdict == .genuine)
        let running = try await answer(about: SignedSamples.transaction(), wantsPresentState: true)
        #expect(running.provenance.source == .local)
    }

    @Test func `without a key signed transactions are answered from their signatures`() async throws {
        let fixture = CustomerFixture(Self.known, apps: [])
        #expect(try await fixture.ask(Self.request(), at: 250).provenance.source == .local)
        #expect(try await fixture.ask(Self.request(.apple), at: 250).verdict == .undecided(.upstreamNotConfigured))
        #expect(fixture.customers.asked.isEmpty)
    }

    @Test func `mode local never causes a request`() async throws {
        let fixture = CustomerFixture(Self.known)
        #expect(try await fixture.ask(Self.request(.local), at: 250).provenance.source == .local)
        #expect(fixture.customers.asked.isEmpty)
    }

    @Test func `of several chains the newest is looked up first`() async throws {
        let fixture = CustomerFixture(["5": [.answered(.customer("5"))]])
        let newer = SignedSamples.transaction { contents in
            (contents.transactionID, contents.originalTransactionID) = ("6", "5")
            contents.purchaseDate = SignedSamples.time(-59)
        }
        for items in [[newer, SignedSamples.transaction()], [SignedSamples.transaction(), newer]] {
            _ = try await fixture.ask(VerificationRequest(items), at: 250)
        }
        #expect(fixture.customers.asked == ["5", Self.original])
    }

    @Test func `an app transaction is asked about by its own ID, in mode apple only`() async throws {
        let id = "700000000000000001"
        let fixture = CustomerFixture([id: [.answered(.customer(id))]])
        func ask(_ mode: Mode) async throws -> Answer {
            try await fixture.ask(
                VerificationRequest([], appTransaction: SignedSamples.appTransaction(), mode: mode), at: 90_000)
        }
        #expect(try await ask(.auto).provenance.source == .local)
        #expect(try await ask(.apple).provenance.source == .serverAPI)
        #expect(fixture.customers.asked == [id])
    }

    @Test func `evidence and IDs share the answers about a chain`() async throws {
        let id = "\(Self.original)3"
        let fixture = CustomerFixture([id: [.answered(.customer(Self.original))]])
        _ = try await fixture.ask(id, at: 300)
        let answer = try await fixture.ask(Self.request(), at: 301)
        #expect(answer.provenance.source == .serverAPI && answer.provenance.cache == .shared)
        #expect(fixture.customers.asked == [id])
    }

    /// The evidence names a period that the scripted answer does not have.
    private static func renewed(signedAt seconds: Int64, _ mode: Mode = .auto) -> VerificationRequest {
        let transaction = SignedSamples.transaction {
            $0.transactionID = "new"
            $0.signedDate = SignedSamples.time(seconds)
        }
        return VerificationRequest([transaction], mode: mode)
    }

    @Test func `an answer from before a purchase was signed is fetched again, once`() async throws {
        let fixture = CustomerFixture([Self.original: [.answered(.customer(Self.original))]])
        _ = try await fixture.ask(Self.original, at: 100)
        // Old enough for a call, and newer than the answer of 100.
        let answer = try await fixture.ask(Self.renewed(signedAt: 110), at: 145)
        #expect(answer.provenance.verifiedAt == SignedSamples.time(145) && answer.provenance.cache == .miss)
        // Apple's index may lack it for some minutes.
        #expect(answer.transactions.contains { $0.transactionID == "new" })
        let again = try await fixture.ask(Self.renewed(signedAt: 110), at: 150)
        #expect(again.provenance.cache == .shared && again.transactions.contains { $0.transactionID == "new" })
        #expect(fixture.customers.asked == [Self.original, Self.original])
        #expect(!(try await fixture.ask(Self.original, at: 151)).transactions.contains { $0.transactionID == "new" })
    }

    @Test func `a purchase that Apple does not list for long is not added`() async throws {
        let fixture = CustomerFixture([Self.original: [.answered(.customer(Self.original))]])
        let answer = try await fixture.ask(Self.renewed(signedAt: 0), at: 1000)
        #expect(answer.provenance.source == .serverAPI)
        #expect(!answer.transactions.contains { $0.transactionID == "new" })
    }

    @Test(arguments: [Mode.auto, .apple]) func `without Apple, newer evidence completes an older answer`(
        mode: Mode
    ) async throws {
        let fixture = CustomerFixture([
            Self.original: [.answered(.customer(Self.original)), .unanswered(.upstreamTimeout)]
        ])
        _ = try await fixture.ask(Self.original, at: 100)
        let answer = try await fixture.ask(Self.renewed(signedAt: 110, mode), at: 145)
        #expect(answer.verdict == .genuine && answer.provenance.cache == .stale)
        #expect(answer.transactions.contains { $0.transactionID == "new" } && answer.transactions.count == 4)
    }

    @Test func `a refund that evidence shows corrects the cached answer for all`() async throws {
        var refunded = UpstreamAnswer.customer(Self.original)
        refunded.transactions[0].cancellationDate = SignedSamples.time(105)
        let fixture = CustomerFixture([
            Self.original: [.answered(.customer(Self.original)), .answered(refunded)]
        ])
        _ = try await fixture.ask(Self.original, at: 100)
        let id = refunded.transactions[0].transactionID
        let refund = SignedSamples.transaction {
            $0.transactionID = id
            $0.revocationDate = SignedSamples.time(105)
            $0.signedDate = SignedSamples.time(106)
        }
        #expect(try await fixture.ask(VerificationRequest([refund], mode: .apple), at: 110).provenance.cache == .miss)
        let answer = try await fixture.ask(Self.original, at: 111)
        #expect(answer.provenance.cache == .shared)
        #expect(answer.transactions.first { $0.transactionID == id }?.cancellationDate != nil)
    }

    @Test func `another customer's purchase does not complete an answer`() {
        var newest = CompletedAnswer(.customer(Self.original))
        var other = Transaction(productID: "p", transactionID: "x")
        other.originalTransactionID = "of another customer"
        var fields = SignedTransactionFields()
        (fields.signedDate, fields.appTransactionID) = (SignedSamples.time(100), "another app transaction")
        other.signedFields = .value(fields)
        newest.complete(with: [other], [], signedAt: nil, indexed: SignedSamples.time(0))
        #expect(newest.transactions.count == 3)
        fields.appTransactionID = "app\(Self.original)"
        other.signedFields = .value(fields)
        newest.complete(with: [other], [], signedAt: nil, indexed: SignedSamples.time(0))
        #expect(newest.transactions.count == 4)
    }

    @Test func `a rejection from before the evidence was signed is not repeated`() async throws {
        let fixture = CustomerFixture([Self.original: [.accountNotFound, .answered(.customer(Self.original))]])
        _ = try await fixture.ask(Self.original, at: 100)
        let answer = try await fixture.ask(Self.renewed(signedAt: 110), at: 145)
        #expect(answer.verdict == .genuine && answer.provenance.cache == .miss)
    }

    @Test(arguments: [(-1, false), (1, true)] as [(Int64, Bool)])
    func `of two states of a transaction the one signed last counts`(after: Int64, isRefunded: Bool) async throws {
        var known = UpstreamAnswer.customer(Self.original)
        let id = known.transactions[0].transactionID
        var fields = SignedTransactionFields()
        fields.signedDate = SignedSamples.time(100)
        known.transactions[0].signedFields = .value(fields)
        let fixture = CustomerFixture([Self.original: [.answered(known)]])
        _ = try await fixture.ask(Self.original, at: 300)
        let refund = SignedSamples.transaction {
            $0.transactionID = id
            $0.revocationDate = SignedSamples.time(90)
            $0.signedDate = SignedSamples.time(100 + after)
        }
        let answer = try await fixture.ask(VerificationRequest([refund], mode: .apple), at: 301)
        let shown = try #require(answer.transactions.first { $0.transactionID == id })
        #expect((shown.cancellationDate != nil) == isRefunded && answer.provenance.cache == .shared)
        #expect(fixture.customers.asked.count == 1)
    }

    @Test func `a plan that was signed later counts`() {
        func plan(_ date: Int64?, _ chain: String = Self.original) -> Renewal {
            var plan = Renewal(originalTransactionID: chain)
            var fields = SignedRenewalFields()
            fields.signedDate = date.map(SignedSamples.time)
            plan.signedFields = .value(fields)
            return plan
        }
        func date(_ known: Renewal, _ sent: Renewal) -> Timestamp? {
            var answer = UpstreamAnswer.customer(Self.original)
            answer.renewals = [known]
            var newest = CompletedAnswer(answer)
            newest.complete(with: [], [sent], signedAt: nil, indexed: SignedSamples.time(0))
            return newest.renewals.count == 1 ? newest.renewals[0].signedFields?.value.signedDate : nil
        }
        #expect(date(plan(1), plan(2)) == SignedSamples.time(2) && date(plan(2), plan(1)) == SignedSamples.time(2))
        #expect(date(plan(1), plan(2, "2")) == SignedSamples.time(1) && date(plan(nil), plan(2)) == nil)
    }

    @Test func `evidence does not end with the lookup that it joined`() async throws {
        let gate = Gate()
        let fixture = CustomerFixture(
            [Self.original: [.unanswered(.upstreamBudget), .answered(.customer(Self.original))]], gate: gate)
        // The environment is known by an alias, so both requests have one key.
        fixture.customers.rewrite("9", [.answered(.customer(Self.original))])
        async let first = fixture.ask("9", at: 0)
        try await eventually { gate.waitingCount == 1 }
        gate.open()
        _ = try await first
        gate.close()
        async let lookup = fixture.ask(Self.original, at: 250) { $0.options.maximumAge = .zero }
        try await eventually { gate.waitingCount == 1 }
        async let evidence = fixture.ask(Self.request(.apple), at: 250)
        try await eventually { fixture.events.lines.count(where: { $0 == "looked up miss" }) == 3 }
        gate.open()
        #expect(try await evidence.provenance.cache == .miss)
        #expect(try await evidence.provenance.degradedReasons.isEmpty)
        #expect(try await lookup.provenance.degradedReasons == [.upstreamBudget])
    }

    @Test func `evidence of another environment has another answer`() async throws {
        let fixture = CustomerFixture(Self.known)
        _ = try await fixture.ask(Self.request(), at: 250)
        let production = VerificationRequest([SignedSamples.transaction { $0.environment = "Production" }])
        _ = try await fixture.ask(production, at: 251)
        #expect(fixture.customers.requests.map(\.environment) == [.sandbox, .production])
    }

    @Test func `a new request continues from the revision of the cached answer`() async throws {
        let fixture = CustomerFixture([
            Self.original: [
                .answered(.customer(Self.original, revision: "r1")), .answered(.customer(Self.original, revision: nil)),
            ]
        ])
        for seconds in [250, 1000, 1500] as [Int64] { _ = try await fixture.ask(Self.request(), at: seconds) }
        #expect(fixture.customers.requests.map { $0.known?.revision } == [nil, "r1", nil])
        #expect(fixture.customers.requests[2].known == nil)
    }

    // MARK: - Evidence that Apple does not know

    @Test(arguments: UnknownTransaction.allCases) func `evidence is never rejected because Apple does not know it`(
        unknown: UnknownTransaction
    ) async throws {
        let fixture = CustomerFixture([Self.original: [.unknownTransaction(unknown)]])
        for cache in ["looked up miss", "looked up shared"] {
            let answer = try await fixture.ask(Self.request(), at: 250)
            #expect(answer.verdict == .genuine && answer.provenance.source == .local)
            #expect(answer.provenance.degradedReasons == [.transactionUnknown])
            #expect(fixture.events.lines.contains(cache))
        }
        #expect(try await fixture.ask(Self.request(.apple), at: 251).verdict == .undecided(.upstreamDidNotAnswer))
        // The cached result is about the ID: without evidence it is a rejection.
        #expect(fixture.customers.asked.count == 1)
    }

    @Test func `a stale answer is preferred to the evidence`() async throws {
        let fixture = CustomerFixture([
            Self.original: [.answered(.customer(Self.original)), .unknownTransaction(.notFound)]
        ])
        _ = try await fixture.ask(Self.request(), at: 250)
        let stale = try await fixture.ask(Self.request(), at: 1000)
        #expect(stale.provenance.source == .serverAPI && stale.provenance.cache == .stale)
        #expect(stale.provenance.degradedReasons == [.transactionUnknown])
    }

    @Test func `an account that was deleted is rejected`() async throws {
        let fixture = CustomerFixture([Self.original: [.accountNotFound]])
        let answer = try await fixture.ask(Self.request(), at: 250)
        #expect(answer.verdict == .rejected(.accountNotFound) && answer.provenance.source == .serverAPI)
    }

    // MARK: - Receipts

    @Test(arguments: [Mode.auto, .apple, .appleFirst])
    func `a receipt without a secret is asked about at the Server API`(mode: Mode) async throws {
        let fixture = CustomerFixture(["1": [.answered(.customer("1"))]], verifier: Samples.verifier)
        let receipt = Samples.receipt(with: [Period("1", 0..<100)])
        let answer = try await fixture.ask(
            VerificationRequest(evidence: .appReceipt(receipt), mode: mode), at: Samples.time(150)
        ) { $0.options.wantsLatestReceipt = true }
        // Only verifyReceipt gives Apple's own form, and it does not need a secret for every receipt.
        #expect(fixture.upstream.asked.isEmpty != (mode == .appleFirst))
        #expect(fixture.customers.asked == ["1"])
        #expect(answer.provenance.source == .serverAPI && !answer.provenance.isDegraded)
        #expect(answer.receipt != nil && answer.upstreamBody == nil)
    }

    @Test func `the operator's date of verifyReceipt's end does not concern the Server API`() {
        let end = SignedSamples.time(0)
        let lifecycle = UpstreamLifecycle(configured: LifecycleDates(sunset: end))
        for environment in UpstreamEnvironment.allCases {
            #expect(lifecycle.state(of: UpstreamEndpoint(.verifyReceipt, environment)).dates.sunset == end)
            #expect(lifecycle.state(of: UpstreamEndpoint(.serverAPI, environment)).dates.sunset == nil)
        }
    }
}
