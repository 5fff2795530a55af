// SPDX-License-Identifier: Apache-2.0

import Receipts
import Resilience
import Synchronization
import Testing
import TestSupport

@testable import Gateway

/// A gateway with a scripted App Store Server API. Times are seconds after the sample transaction was signed.
struct CustomerFixture {
    let customers: ScriptedCustomers
    let upstream: ScriptedUpstream
    let events = EventLog()
    let invalidation: CacheInvalidation
    let verification: UpstreamVerification
    let service: RememberingService
    let forgetful: VerificationService
    let verifier: CurrentVerifier
    private let clock: TestClock

    init(
        _ script: [String: [UpstreamResult]], apps: Set<String> = [SignedSamples.app], gate: Gate? = nil,
        verifyReceipt: ScriptedUpstream = ScriptedUpstream([:], hasSecret: false),
        verifier: ReceiptVerifier = SignedSamples.verifier, lifecycle: UpstreamLifecycle = UpstreamLifecycle(),
        receiptUpstream: ReceiptUpstream = .both, states: (any CustomerStates)? = nil,
        leases: any FlightLeases = EmbeddedFlightLeases(), hasApple: Bool = true
    ) {
        clock = TestClock(SignedSamples.signed)
        customers = ScriptedCustomers(script, apps: apps, gate: gate)
        upstream = verifyReceipt
        var ports = FleetPorts.embedded()
        (ports.states, ports.leases) = (states, leases)
        verification = UpstreamVerification(
            UpstreamConnection(
                upstream, customers: customers, receiptUpstream: { _ in receiptUpstream }, guards: UpstreamGuards(),
                lifecycle: lifecycle, timeouts: .unhurried),
            fleet: ports, policy: CachePolicy { 0 }, observe: events.observe, clock: { [clock] in clock.time })
        invalidation = CacheInvalidation(ports.cache.purges, observe: events.observe)
        self.verifier = CurrentVerifier(verifier)
        forgetful = VerificationService(
            verifier: self.verifier, states: NotifiedStates(ports, observe: events.observe),
            apple: hasApple ? verification : nil)
        service = RememberingService(forgetful)
    }

    /// Sets the clock that Apple's answers are dated by.
    func advance(to now: Timestamp) { clock.set(now) }

    /// Sends a request of a client with one app.
    func ask(
        _ request: VerificationRequest, at now: Timestamp, remembers: Bool = false,
        _ edit: (inout RequestDraft) -> Void = { _ in }
    ) async throws -> Answer {
        clock.set(now)
        var draft = RequestDraft(request)
        draft.client.permittedApps = .only([SignedSamples.app])
        edit(&draft)
        return try await remembers
            ? service.verify(draft.request, at: now) : forgetful.verify(draft.request, at: now)
    }

    func ask(
        _ id: String, _ mode: Mode = .auto, at seconds: Int64, remembers: Bool = false,
        _ edit: (inout RequestDraft) -> Void = { _ in }
    ) async throws -> Answer {
        let request = VerificationRequest(.transactionID(id), mode: mode)
        return try await ask(request, at: SignedSamples.time(seconds), remembers: remembers, edit)
    }

    func ask(_ request: VerificationRequest, at seconds: Int64) async throws -> Answer {
        try await ask(request, at: SignedSamples.time(seconds))
    }

    /// Returns the error of a request about an ID.
    func error(_ id: String, at seconds: Int64, _ edit: (inout RequestDraft) -> Void) async -> GatewayError? {
        do {
            _ = try await ask(id, at: seconds, edit)
            return nil
        } catch {
            return error as? GatewayError
        }
    }
}

struct TransactionLookupTests {
    @Test func `Apple's answer about an ID is the answer about its customer`() async throws {
        let fixture = CustomerFixture(["12": [.answered(.customer())]])
        let answer = try await fixture.ask("12", at: 300)
        #expect(answer.verdict == .genuine && answer.environment == .sandbox)
        #expect(answer.provenance == Provenance(source: .serverAPI, cache: .miss, verifiedAt: SignedSamples.time(300)))
        #expect(answer.transactions.map(\.transactionID) == ["1", "12", "13"])
        #expect(answer.subscriptions.map(\.state) == [.active])
        // There is no evidence and no answer in the form of verifyReceipt.
        #expect(answer.subject?.evidence == nil && answer.subject?.bundleID == SignedSamples.app)
        #expect(answer.upstreamBody == nil && answer.earlierUpstreamBody == nil)
        let request = try #require(fixture.customers.requests.first)
        #expect(request.bundleID == SignedSamples.app && request.environment == nil && !request.hasEvidence)
        #expect(request.known == nil && fixture.upstream.asked.isEmpty)
    }

    @Test func `old transactions are left out of the same cached answer`() async throws {
        let fixture = CustomerFixture(["1": [.answered(.customer())]])
        _ = try await fixture.ask("1", at: 300)
        let latest = try await fixture.ask("1", at: 301) { $0.options.excludesOldTransactions = true }
        #expect(
            latest.provenance.cache == .shared && latest.entitlements.latestTransactions.map(\.transactionID) == ["13"])
    }

    // MARK: - Permissions

    @Test func `permission is checked before the cache and Apple`() async throws {
        let fixture = CustomerFixture(["1": [.answered(.customer())]], apps: [SignedSamples.app, "com.example.other"])
        _ = try await fixture.ask("1", at: 300)
        let looked = fixture.events.lines.count
        for apps in [["com.example.other"], ["com.example.other", "com.example.third"], []] as [Set<String>] {
            let request = VerificationRequest(.transactionID("1"))
                .with { $0.expectations.bundleID = SignedSamples.app }.withClient { $0.permittedApps = .only(apps) }
            #expect(throws: GatewayError.appNotPermitted(SignedSamples.app)) {
                try fixture.forgetful.answer(request, at: SignedSamples.time(301))
            }
        }
        #expect(fixture.customers.asked == ["1"] && fixture.events.lines.count == looked)
    }

    @Test(
        arguments: [
            (.all, nil, .appMissing), (.only([]), nil, .appMissing), (.only(["a", "b"]), nil, .appMissing),
            (.only(["a"]), nil, .serverAPINotConfigured), (.all, "a", .serverAPINotConfigured),
            (.only([SignedSamples.app]), nil, nil), (.all, SignedSamples.app, nil),
        ] as [(PermittedApps, String?, GatewayError?)])
    func `the app is the one that is named, else the client's only one`(
        apps: PermittedApps, bundleID: String?, expected: GatewayError?
    ) async throws {
        let fixture = CustomerFixture(["1": [.answered(.customer())]])
        let error = await fixture.error("1", at: 300) { request in
            request.client.permittedApps = apps
            request.options.expectations.bundleID = bundleID
        }
        #expect(error == expected && fixture.customers.asked.count == (expected == nil ? 1 : 0))
    }

    @Test func `without Apple there is no key`() {
        let service = VerificationService(verifier: CurrentVerifier(SignedSamples.verifier))
        let request = VerificationRequest(.transactionID("1")).with { $0.expectations.bundleID = SignedSamples.app }
        #expect(throws: GatewayError.serverAPINotConfigured) {
            try service.answer(request, at: SignedSamples.signed)
        }
    }

    // MARK: - Unknown IDs

    @Test(
        arguments: [(.notFound, "transaction_not_found", 5), (.idInvalid, "transaction_id_invalid", 3600)]
            as [(UnknownTransaction, String, Int64)])
    func `an unknown ID is rejected, and the rejection is cached briefly`(
        unknown: UnknownTransaction, reason: String, span: Int64
    ) async throws {
        let fixture = CustomerFixture(["1": [.unknownTransaction(unknown), .answered(.customer())]])
        for (seconds, cache) in [(0, .miss), (span - 1, .shared)] as [(Int64, Provenance.Cache)] {
            let answer = try await fixture.ask("1", at: seconds)
            #expect(answer.verdict == .rejected(.unknownTransaction(unknown)) && answer.verdict.reason == reason)
            #expect(answer.provenance.source == .serverAPI && answer.provenance.cache == cache)
        }
        // Not stale either: the transaction may be known by now.
        #expect(try await fixture.ask("1", at: span).verdict == .genuine)
        #expect(fixture.customers.asked.count == 2)
    }

    @Test func `an unknown ID does not displace an answer`() async throws {
        let fixture = CustomerFixture([
            "1": [.answered(.customer()), .unknownTransaction(.notFound), .unanswered(.upstreamTimeout)]
        ])
        _ = try await fixture.ask("1", at: 300)
        #expect(try await fixture.ask("1", .apple, at: 1000).verdict == .rejected(.unknownTransaction(.notFound)))
        #expect(try await fixture.ask("1", at: 1004).verdict == .rejected(.unknownTransaction(.notFound)))
        #expect(fixture.customers.asked.count == 2)
        let stale = try await fixture.ask("1", at: 1005)
        #expect(stale.verdict == .genuine && stale.provenance.degradedReasons == [.upstreamTimeout])
    }

    // MARK: - Mode, age and outage

    @Test func `mode local uses the cache only`() async throws {
        let fixture = CustomerFixture(["1": [.answered(.customer())], "2": [.unknownTransaction(.notFound)]])
        let nothing = try await fixture.ask("1", .local, at: 300)
        #expect(nothing.verdict == .undecided(.notCached) && nothing.subject == nil && !nothing.provenance.isDegraded)
        _ = try await fixture.ask("1", at: 300)
        _ = try await fixture.ask("2", at: 300)
        #expect(try await fixture.ask("1", .local, at: 301).provenance.cache == .shared)
        #expect(try await fixture.ask("2", .local, at: 301).verdict == .rejected(.unknownTransaction(.notFound)))
        let stale = try await fixture.ask("1", .local, at: 5000)
        #expect(stale.provenance.cache == .stale && stale.subscriptions.map(\.state) == [.expired])
        let newer = try await fixture.ask("1", .local, at: 5000) { $0.options.maximumAge = .seconds(100) }
        #expect(newer.verdict == .undecided(.notCached))
        // After its freshness of 30 seconds, an answer is kept for a day.
        #expect(try await fixture.ask("1", .local, at: 300 + 30 + 86_400).verdict == .undecided(.notCached))
        #expect(fixture.customers.asked == ["1", "2"] && fixture.verification.flightCount == 0)
    }

    @Test(arguments: [Mode.auto, .apple]) func `without Apple's answer an ID is undecided, unless one is cached`(
        mode: Mode
    ) async throws {
        let fixture = CustomerFixture(["1": [.answered(.customer()), .unanswered(.serverAPIKeyRejected)]])
        _ = try await fixture.ask("1", mode, at: 300)
        let stale = try await fixture.ask("1", mode, at: 1000)
        #expect(
            stale.provenance
                == Provenance(
                    source: .serverAPI, cache: .stale, verifiedAt: SignedSamples.time(300),
                    degradedReasons: [.serverAPIKeyRejected]))
        fixture.customers.rewrite("2", [.unanswered(.serverAPIKeyRejected)])
        let undecided = try await fixture.ask("2", mode, at: 1000)
        #expect(undecided.verdict == .undecided(.upstreamDidNotAnswer) && undecided.transactions.isEmpty)
        #expect(undecided.provenance.degradedReasons == [.serverAPIKeyRejected])
    }

    @Test func `a maximum age causes a request to Apple`() async throws {
        let fixture = CustomerFixture(["1": [.answered(.customer())]])
        for (seconds, age, cache) in [(300, nil, .miss), (310, 10, .shared), (310, 9, .miss)]
            as [(Int64, Int64?, Provenance.Cache)]
        {
            let answer = try await fixture.ask("1", at: seconds) { $0.options.maximumAge = age.map { .seconds($0) } }
            #expect(answer.provenance.cache == cache)
        }
    }

    @Test func `identical requests share one call`() async throws {
        let gate = Gate()
        let fixture = CustomerFixture(["1": [.answered(.customer())]], gate: gate)
        async let first = fixture.ask("1", at: 300)
        try await eventually { gate.waitingCount == 1 }
        async let second = fixture.ask("1", at: 300)
        try await eventually { fixture.events.lines.count(where: { $0 == "looked up miss" }) == 2 }
        gate.open()
        let answers = try await (first, second)
        #expect(answers.0.verdict == .genuine && answers.1.verdict == .genuine)
        #expect(fixture.customers.asked == ["1"])
    }

    // MARK: - Aliases

    @Test(arguments: ["1", "12", "10", "app1"]) func `an ID leads to the answer of its chain from then on`(
        id: String
    ) async throws {
        let fixture = CustomerFixture([id: [.answered(.customer())]])
        #expect(try await fixture.ask(id, at: 300).provenance.cache == .miss)
        #expect(try await fixture.ask(id, at: 301).provenance.cache == .shared)
        for other in ["1", "app1"] { fixture.customers.rewrite(other, [.answered(.customer(revision: "r2"))]) }
        _ = try await fixture.ask(id, at: 1000)
        let request = fixture.customers.requests[1]
        // The app transaction is its own chain.
        #expect(request.transactionID == (id == "app1" ? "app1" : "1"))
        #expect(request.environment == .sandbox && request.known?.revision == "r1")
        let found = try await fixture.ask(id, .local, at: 1001)
        #expect(found.provenance.verifiedAt == SignedSamples.time(1000))
    }

    @Test func `all IDs of a chain share its answer`() async throws {
        let fixture = CustomerFixture(["12": [.answered(.customer())], "10": [.answered(.customer())]])
        _ = try await fixture.ask("12", at: 300)
        _ = try await fixture.ask("10", at: 320)
        #expect(try await fixture.ask("12", at: 340).provenance.verifiedAt == SignedSamples.time(320))
        #expect(fixture.customers.asked == ["12", "10"])
    }

    @Test func `an answer is found by its chain and by its newest transaction, as long as it is kept`() async throws {
        let fixture = CustomerFixture(["12": [.answered(.customer())]])
        _ = try await fixture.ask("12", at: 300)
        for id in ["1", "13"] { #expect(try await fixture.ask(id, at: 301).provenance.cache == .shared) }
        #expect(try await fixture.ask("13", .local, at: 86_000).provenance.cache == .stale)
        #expect(fixture.customers.asked == ["12"])
        // The ID of the request leads to the answer for a month, the others do not.
        #expect(try await fixture.ask("13", at: 200_000).verdict != .genuine)
        #expect(fixture.customers.asked == ["12", "13"])
    }

    @Test func `the environment is remembered for each transaction`() async throws {
        let fixture = CustomerFixture([
            "1": [.answered(.customer("1", in: .sandbox))], "2": [.answered(.customer("2", in: .production))],
        ])
        for id in ["1", "2"] { _ = try await fixture.ask(id, at: 300) }
        for id in ["1", "2", "3"] { _ = try await fixture.ask(id, .apple, at: 10_000) }
        #expect(fixture.customers.requests.map(\.environment) == [nil, nil, .sandbox, .production, nil])
    }

    @Test func `an alias ends after a month`() async throws {
        let fixture = CustomerFixture(["12": [.answered(.customer())], "1": [.answered(.customer())]])
        _ = try await fixture.ask("12", at: 300)
        _ = try await fixture.ask("12", at: 300 + 30 * 86_400 - 1)
        _ = try await fixture.ask("12", at: 300 + 30 * 86_400)
        #expect(fixture.customers.asked == ["12", "1", "12"])
    }

    @Test func `a chain that Apple renames again is followed`() async throws {
        var renamed = UpstreamAnswer.customer("9")
        renamed.transactions[2].signedFields = .value(
            {
                var fields = SignedTransactionFields()
                fields.previousOriginalTransactionID = "1"
                return fields
            }())
        let fixture = CustomerFixture([
            "12": [.answered(.customer())], "1": [.answered(renamed)], "9": [.answered(renamed)],
        ])
        for seconds in [300, 1000, 2000, 2001] as [Int64] { _ = try await fixture.ask("12", at: seconds) }
        #expect(fixture.customers.asked == ["12", "1", "9"])
    }

    // MARK: - Purges

    @Test(arguments: ["1", "12", "13", "10", "app1"], [false, true]) func `a purge by any ID reaches the answer`(
        id: String, remembers: Bool
    ) async throws {
        let fixture = CustomerFixture(["12": [.answered(.customer())], "1": [.answered(.customer())]])
        _ = try await fixture.ask("12", at: 300, remembers: remembers)
        #expect(
            try await fixture.ask("12", at: 301, remembers: remembers).provenance.cache == (remembers ? .near : .shared)
        )
        try await fixture.invalidation.purge(transactionID: id)
        #expect(try await fixture.ask("12", at: 303, remembers: remembers).provenance.cache == .miss)
        // The revision of a purged answer is not continued.
        #expect(fixture.customers.requests.count == 2 && fixture.customers.requests[1].known == nil)
    }

    @Test(arguments: ["1", "12"]) func `a purge reaches the alias`(id: String) async throws {
        let fixture = CustomerFixture(["12": [.answered(.customer())]])
        _ = try await fixture.ask("12", at: 300)
        try await fixture.invalidation.purge(transactionID: id)
        _ = try await fixture.ask("12", at: 301)
        #expect(fixture.customers.requests.map(\.environment) == [nil, nil])
    }

    @Test func `a purge of other IDs does not reach the answer`() async throws {
        let fixture = CustomerFixture(["12": [.answered(.customer())]])
        _ = try await fixture.ask("12", at: 300)
        try await fixture.invalidation.purge(transactionID: "999")
        #expect(try await fixture.ask("12", at: 301).provenance.cache == .shared)
    }

    @Test func `a purge reaches the rejection of an ID`() async throws {
        let fixture = CustomerFixture(["7": [.unknownTransaction(.idInvalid)]])
        _ = try await fixture.ask("7", at: 300)
        try await fixture.invalidation.purge(transactionID: "7")
        _ = try await fixture.ask("7", at: 301)
        #expect(fixture.customers.asked == ["7", "7"])
    }
}

/// The charge for transaction IDs that Apple does not know.
struct UnknownIDTests {
    private static let charge = RateCharge(
        RateBucket(
            client: "shop", policy: RatePolicy(name: "unknown_ids", quota: 2, window: .seconds(60), isLeased: false)))

    private static func charged(_ request: inout RequestDraft) { request.client.unknownIDs = charge }

    private static func isRefused(_ error: GatewayError?) -> Bool {
        guard case .rateLimited(let admission) = error else { return false }
        return !admission.isAdmitted && admission.retryAfter != nil && admission.outcomes.map(\.charge) == [charge]
    }

    @Test func `too many unknown IDs are refused, the last ones without Apple`() async throws {
        let fixture = CustomerFixture(["1": [.answered(.customer())]])
        for id in ["7", "8"] { #expect(await fixture.error(id, at: 0, Self.charged) == nil) }
        #expect(Self.isRefused(await fixture.error("9", at: 0, Self.charged)))
        #expect(fixture.customers.asked == ["7", "8"])
        // Another client is not concerned.
        #expect(await fixture.error("9", at: 0) { _ in } == nil)
    }

    @Test func `a refusal is reported as one of unknown IDs, not of the request`() async throws {
        let fixture = CustomerFixture([:])
        let refused = Mutex<[RateCharge]>([])
        for id in ["7", "8", "9"] {
            _ = await fixture.error(id, at: 0) { request in
                Self.charged(&request)
                request.client.onAdmission = { _ in Issue.record("the request was not charged") }
                request.client.onUnknownIDs = { admission in
                    refused.withLock { $0 += admission.outcomes.map(\.charge) }
                }
            }
        }
        #expect(refused.withLock { $0 } == [Self.charge])
    }

    @Test func `a refusal after Apple's answer is a refusal as well`() async throws {
        let gate = Gate()
        let fixture = CustomerFixture([:], gate: gate)
        async let errors = withTaskGroup(of: GatewayError?.self) { group in
            for id in ["6", "7", "8"] { group.addTask { await fixture.error(id, at: 0, Self.charged) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        try await eventually { gate.waitingCount == 3 }
        gate.open()
        #expect(await errors.count(where: Self.isRefused) == 1)
    }

    @Test(arguments: [DegradedReason.upstreamBudget, .upstreamSaturated, .serverAPIKeyRejected])
    func `IDs that use up the budget count as unknown`(reason: DegradedReason) async throws {
        let fixture = CustomerFixture([
            "7": [.unanswered(reason)], "8": [.unanswered(reason)],
            "1": [.answered(.customer()), .unanswered(reason)],
        ])
        _ = try await fixture.ask("1", at: 300, Self.charged)
        for id in ["7", "8"] { #expect(await fixture.error(id, at: 1000, Self.charged) == nil) }
        #expect(Self.isRefused(await fixture.error("9", at: 1000, Self.charged)))
        #expect(fixture.customers.asked == ["1", "7", "8"])
        // Who has a cached answer pays nothing, and keeps it.
        for _ in 1...5 {
            #expect(try await fixture.ask("1", at: 1000, Self.charged).provenance.cache == .stale)
        }
    }

    @Test func `after an empty bucket known IDs hand one token on`() async throws {
        let bucket = RateCharge(
            RateBucket(
                client: "shop", policy: RatePolicy(name: "unknown_ids", quota: 1200, window: .seconds(60), burst: 20)))
        func charged(_ request: inout RequestDraft) { request.client.unknownIDs = bucket }
        let known = (1...30).map { "\($0)00" }
        let fixture = CustomerFixture(
            Dictionary(uniqueKeysWithValues: known.map { ($0, [.answered(.customer($0))]) }))
        var unknown = 9_000_000
        while await fixture.error("\(unknown)", at: 0, charged) == nil, unknown < 9_001_000 { unknown += 1 }
        // The next token comes after 50 ms, and the bucket counts as empty for a second.
        try await eventually { await fixture.error(known[0], at: 0, charged) == nil }
        for id in known { #expect(await fixture.error(id, at: 0, charged) == nil) }
    }

    @Test func `an outage of Apple counts for nothing`() async throws {
        let fixture = CustomerFixture(["7": [.unanswered(.upstreamTimeout)]])
        for _ in 1...5 { #expect(await fixture.error("7", at: 0, Self.charged) == nil) }
        #expect(fixture.customers.asked.count == 5)
    }

    @Test func `cached rejections cost nothing, as known IDs do`() async throws {
        let fixture = CustomerFixture(["1": [.answered(.customer())]])
        #expect(await fixture.error("7", at: 0, Self.charged) == nil)
        for _ in 1...5 { #expect(await fixture.error("7", at: 1, Self.charged) == nil) }
        for _ in 1...5 { #expect(await fixture.error("1", at: 1, Self.charged) == nil) }
        #expect(await fixture.error("8", at: 1, Self.charged) == nil)
        #expect(Self.isRefused(await fixture.error("9", at: 1, Self.charged)))
        #expect(fixture.events.lines.count(where: { $0 == "unknown transaction" }) == 2)
    }

    @Test func `an ID that has an answer is refreshed even if the client is refused`() async throws {
        let fixture = CustomerFixture(["1": [.answered(.customer())]])
        _ = try await fixture.ask("1", at: 300, Self.charged)
        for id in ["7", "8"] { _ = try await fixture.ask(id, at: 300, Self.charged) }
        #expect(try await fixture.ask("1", at: 1000, Self.charged).provenance.cache == .miss)
        #expect(Self.isRefused(await fixture.error("9", at: 1000, Self.charged)))
    }
}
