// SPDX-License-Identifier: Apache-2.0

import Cryptography
import ReceiptForge
import Receipts
import Resilience
import Synchronization
import Testing
import TestSupport

@testable import Gateway

/// A gateway with a scripted upstream, and a receipt whose period ends 100 seconds after it was made.
private struct Fixture {
    let upstream: ScriptedUpstream
    let events = EventLog()
    let clock = TestClock(Samples.created)
    let lifecycle: UpstreamLifecycle
    let guards: UpstreamGuards
    let verification: UpstreamVerification
    let invalidation: CacheInvalidation
    let service: RememberingService
    private let remembers: Bool
    private let forgetful: VerificationService
    var receipt = Samples.receipt(with: [Period("1", 0..<100)])

    init(
        _ script: ScriptedUpstream.Script, hasSecret: Bool = true, gate: Gate? = nil,
        dates: LifecycleDates = LifecycleDates(), guardPolicy: UpstreamGuardPolicy = UpstreamGuardPolicy(),
        timeouts: UpstreamTimeouts = .unhurried, remembers: Bool = false, randomness: Double = 0,
        ports: FleetPorts = .embedded()
    ) {
        upstream = ScriptedUpstream(script, hasSecret: hasSecret, gate: gate)
        lifecycle = UpstreamLifecycle(configured: dates)
        guards = UpstreamGuards(guardPolicy)
        verification = UpstreamVerification(
            UpstreamConnection(
                upstream, guards: guards, lifecycle: lifecycle, timeouts: timeouts),
            fleet: ports, policy: CachePolicy { randomness }, observe: events.observe, clock: { [clock] in clock.time })
        invalidation = CacheInvalidation(ports.cache.purges, observe: events.observe)
        forgetful = VerificationService(verifier: CurrentVerifier(Samples.verifier), apple: verification)
        service = RememberingService(forgetful)
        self.remembers = remembers
    }

    /// Sends a request `seconds` after the receipt was made.
    /// - Parameter later: the time at which it is taken up; nil for at once.
    func ask(
        _ mode: Mode = .auto, at seconds: Int64, takenUpAt later: Int64? = nil,
        _ edit: (inout RequestDraft) -> Void = { _ in }
    ) async throws -> Answer {
        clock.set(Samples.time(later ?? seconds))
        var draft = RequestDraft(.evidence(.appReceipt(receipt)), mode: mode)
        edit(&draft)
        let now = Samples.time(seconds)
        return try await remembers
            ? service.verify(draft.request, at: now) : forgetful.verify(draft.request, at: now)
    }
}

extension UpstreamAnswer {
    /// Apple's answer about the sample receipt: it was renewed until 1000.
    fileprivate static let renewed: UpstreamAnswer = {
        var second = Transaction(productID: "monthly", transactionID: "2")
        second.originalTransactionID = "1"
        (second.purchaseDate, second.expiresDate) = (Samples.time(100), Samples.time(1000))
        var first = Transaction(productID: "monthly", transactionID: "1")
        (first.purchaseDate, first.expiresDate) = (Samples.time(0), Samples.time(100))
        return UpstreamAnswer(
            environment: .sandbox, bundleID: Samples.app, transactions: [second, first], renewals: [],
            latestReceipt: nil, body: Array("{\"status\":0}".utf8))
    }()

    fileprivate func with<Value>(_ property: WritableKeyPath<UpstreamAnswer, Value>, _ value: Value) -> UpstreamAnswer {
        var changed = self
        changed[keyPath: property] = value
        return changed
    }
}

private let sandboxKnows: ScriptedUpstream.Script = [
    .production: [.otherEnvironment], .sandbox: [.answer(.renewed)],
]

struct UpstreamVerificationTests {
    // MARK: Decision to send a request

    @Test func `Apple's newer data decides`() async throws {
        let fixture = Fixture(sandboxKnows)
        let answer = try await fixture.ask(at: 150)
        #expect(answer.verdict == .genuine && answer.subscriptions.map(\.state) == [.active])
        #expect(answer.transactions.map(\.transactionID) == ["2", "1"] && answer.upstreamBody != nil)
        #expect(
            answer.provenance
                == Provenance(source: .apple, cache: .miss, verifiedAt: Samples.time(150), upstreamStatus: 0))
        #expect(fixture.upstream.asked == [.production, .sandbox])
    }

    @Test func `a result that came while the request waited is used, and none from before the clock was set back`()
        async throws
    {
        let fixture = Fixture(sandboxKnows)
        _ = try await fixture.ask(at: 115)
        #expect(try await fixture.ask(at: 110, takenUpAt: 116).provenance.cache == .shared)
        #expect(fixture.upstream.asked.count == 2)
        #expect(try await fixture.ask(at: 110).provenance.cache == .miss)
        #expect(fixture.upstream.asked.count == 4)
    }

    @Test func `a receipt that suffices is answered without Apple`() async throws {
        let fixture = Fixture(sandboxKnows)
        #expect(try await fixture.ask(at: 10).provenance.source == .local)
        #expect(fixture.upstream.asked.isEmpty)
        // In the sandbox an answer is fresh for half a minute.
        #expect(try await fixture.ask(at: 31).provenance.source == .apple)
    }

    @Test func `a client that requires a newer answer causes a request to Apple`() async throws {
        let fixture = Fixture(sandboxKnows)
        #expect(try await fixture.ask(at: 10) { $0.options.maximumAge = .seconds(10) }.provenance.source == .local)
        #expect(try await fixture.ask(at: 10) { $0.options.maximumAge = .seconds(9) }.provenance.source == .apple)
    }

    @Test func `without purchases nothing can have changed`() async throws {
        var fixture = Fixture(sandboxKnows)
        fixture.receipt = Samples.receipt(with: [])
        #expect(try await fixture.ask(at: 1_000_000_000).provenance.source == .local)
        #expect(fixture.upstream.asked.isEmpty)
    }

    @Test func `an app without a secret causes no request, unless the client sends one`() async throws {
        let fixture = Fixture(sandboxKnows, hasSecret: false)
        #expect(try await fixture.ask(at: 150).provenance.source == .local)
        #expect(
            try await fixture.ask(at: 150) { $0.options.sentSecret = Secret("s") }.provenance.source == .apple)
        #expect(fixture.upstream.questions.map(\.sentSecret) == [Secret("s"), Secret("s")])
    }

    @Test func `mode local never sends a request to Apple, mode apple always does`() async throws {
        let fixture = Fixture(sandboxKnows, hasSecret: false)
        #expect(try await fixture.ask(.local, at: 150).provenance.source == .local)
        #expect(fixture.upstream.asked.isEmpty)
        #expect(try await fixture.ask(.apple, at: 1).provenance.source == .apple)
    }

    @Test(arguments: Mode.allCases) func `a forged receipt never reaches Apple`(mode: Mode) async throws {
        var fixture = Fixture(sandboxKnows)
        fixture.receipt[fixture.receipt.count - 1] ^= 1
        #expect(try await fixture.ask(mode, at: 150).verdict == .rejected(.rule(.signatureInvalid)))
        #expect(fixture.upstream.asked.isEmpty)
    }

    // MARK: Cached results

    @Test func `a result is repeated while it is fresh, for any encoding of the receipt`() async throws {
        let fixture = Fixture(sandboxKnows)
        _ = try await fixture.ask(at: 150)
        let again = try await fixture.ask(at: 179)
        #expect(
            again.provenance
                == Provenance(source: .apple, cache: .shared, verifiedAt: Samples.time(150), upstreamStatus: 0))
        #expect(fixture.upstream.asked.count == 2)
    }

    @Test func `a stale result is used once more while a new one is fetched`() async throws {
        let gate = Gate()
        gate.open()
        let fixture = Fixture(sandboxKnows, gate: gate)
        _ = try await fixture.ask(at: 150)
        let stale = try await fixture.ask(at: 181)
        #expect(
            stale.provenance
                == Provenance(source: .apple, cache: .stale, verifiedAt: Samples.time(150), upstreamStatus: 0))
        try await eventually { fixture.verification.flightCount == 0 }
        let fresh = try await fixture.ask(at: 182)
        #expect(
            fresh.provenance
                == Provenance(source: .apple, cache: .shared, verifiedAt: Samples.time(181), upstreamStatus: 0))
        #expect(fixture.upstream.asked.count == 4)
    }

    @Test func `past a boundary no stale result is used`() async throws {
        let fixture = Fixture(sandboxKnows)
        _ = try await fixture.ask(at: 990)
        #expect(try await fixture.ask(at: 999).provenance.cache == .shared)
        #expect(try await fixture.ask(at: 1000).provenance.cache == .miss)
    }

    @Test func `another secret causes another request`() async throws {
        let fixture = Fixture(sandboxKnows)
        for secret in ["a", "b", nil, "a"].map({ $0.map(Secret.init) }) {
            _ = try await fixture.ask(at: 150) { $0.options.sentSecret = secret }
        }
        #expect(fixture.upstream.questions.count == 6)
    }

    @Test func `a result from one configured secret is not used with another`() async throws {
        let fixture = Fixture(sandboxKnows)
        for (second, secret, cache) in [(150, "configured", .miss), (151, "configured", .shared), (152, "next", .miss)]
            as [(Int64, String, Provenance.Cache)]
        {
            fixture.upstream.share(Secret(secret))
            #expect(try await fixture.ask(at: second).provenance.cache == cache)
        }
        #expect(fixture.upstream.questions.count == 4)
    }

    @Test(arguments: [(0, false), (1e-12, false), (1e12, true)]) func `randomness decides on an early refresh`(
        randomness: Double, isRefreshed: Bool
    ) async throws {
        let fixture = Fixture(sandboxKnows, randomness: randomness)
        _ = try await fixture.ask(at: 150)
        #expect(try await fixture.ask(at: 160).provenance.cache == .shared)
        try await eventually { fixture.verification.flightCount == 0 }
        #expect(fixture.events.lines.contains("refreshed early") == isRefreshed)
        #expect(fixture.upstream.asked.count == (isRefreshed ? 4 : 2))
        let again = try await fixture.ask(at: 161)
        #expect(again.provenance.verifiedAt == Samples.time(isRefreshed ? 160 : 150))
    }

    @Test func `a result that ends with a period is not refreshed early`() async throws {
        let fixture = Fixture(sandboxKnows, randomness: 1e12)
        _ = try await fixture.ask(at: 980)
        for second in 981...999 as ClosedRange<Int64> {
            #expect(try await fixture.ask(at: second).provenance.cache == .shared)
        }
        #expect(fixture.upstream.asked.count == 2 && !fixture.events.lines.contains("refreshed early"))
    }

    @Test(
        arguments: [
            (10, 0, 0.9, false), (10, 0, 1.1, true), (10, 5, 0.4, false), (10, 5, 0.6, true), (10, 9, 0.05, false),
        ] as [(Int64, Int64, Double, Bool)])
    func `the longer a request takes, the earlier the result is refreshed`(
        took: Int64, at now: Int64, randomness: Double, isDue: Bool
    ) {
        let known = CachedResult(
            .answered(.renewed), fetchedAt: Samples.time(150), freshUntil: Samples.time(160), took: .seconds(took))
        #expect(known.isDue(at: Samples.time(150 + now), randomness: randomness) == isDue)
        let gone = CachedResult(
            .accountNotFound, fetchedAt: Samples.time(150), freshUntil: Samples.time(160), took: .seconds(took))
        #expect(!gone.isDue(at: Samples.time(159), randomness: 1e12))
    }

    // MARK: Purges

    @Test func `a purge removes a transaction's results, also from the near cache`() async throws {
        let fixture = Fixture(sandboxKnows, remembers: true)
        _ = try await fixture.ask(at: 150)
        #expect(try await fixture.ask(at: 151).provenance.cache == .near)
        try await fixture.invalidation.purge(transactionID: "9")
        #expect(try await fixture.ask(at: 152).provenance.cache == .near)
        try await fixture.invalidation.purge(transactionID: "1")
        #expect(try await fixture.ask(at: 153).provenance.cache == .miss)
        #expect(fixture.events.lines.contains("purged") && fixture.upstream.asked.count == 4)
    }

    @Test func `a result in flight during a purge is not stored`() async throws {
        let gate = Gate()
        gate.open()
        let fixture = Fixture(sandboxKnows, gate: gate)
        _ = try await fixture.ask(.apple, at: 150)
        let questions = fixture.upstream.asked.count
        gate.close()
        async let late = fixture.ask(.apple, at: 151) { $0.options.maximumAge = .zero }
        try await eventually { gate.waitingCount != 0 }
        try await fixture.invalidation.purge(transactionID: "1")
        gate.open()
        #expect(try await late.provenance.source == .apple)
        #expect(try await fixture.ask(.apple, at: 152).provenance.cache == .miss)
        #expect(fixture.upstream.asked.count == 3 * questions)
    }

    @Test func `a purge of the receipt's transactions removes account not found`() async throws {
        let fixture = Fixture([.production: [.refusal(.accountNotFound)]])
        _ = try await fixture.ask(at: 150)
        try await fixture.invalidation.purge(transactionID: "1")
        #expect(try await fixture.ask(at: 151).provenance.cache == .miss)
    }

    @Test func `a request after a purge is not answered by an earlier flight`() async throws {
        let gate = Gate()
        gate.open()
        let fixture = Fixture(sandboxKnows, gate: gate)
        _ = try await fixture.ask(.apple, at: 150)
        let questions = fixture.upstream.asked.count
        gate.close()
        async let early = fixture.ask(.apple, at: 151) { $0.options.maximumAge = .zero }
        try await eventually { gate.waitingCount != 0 }
        try await fixture.invalidation.purge(transactionID: "1")
        async let late = fixture.ask(.apple, at: 152)
        try await eventually { fixture.events.lines.count(where: { $0 == "looked up miss" }) >= 3 }
        gate.open()
        _ = try await (early, late)
        #expect(fixture.upstream.asked.count == 3 * questions)
    }

    // MARK: Cache status

    @Test func `an answer has its cache status`() async throws {
        let fixture = Fixture(sandboxKnows, remembers: true)
        #expect(try await fixture.ask(at: 10).cacheStatus == nil)
        #expect(try await fixture.ask(at: 11).cacheStatus == .hit(freshUntil: Samples.time(40)))
        let end = Samples.time(180)
        #expect(
            try await fixture.ask(at: 150).cacheStatus
                == CacheStatus(forwarded: .miss, freshUntil: end, isStored: true))
        #expect(try await fixture.ask(at: 151).cacheStatus == .hit(freshUntil: end))
        #expect(try await fixture.ask(.apple, at: 151).cacheStatus == .hit(freshUntil: end))
        let newer = try await fixture.ask(at: 160) { $0.options.maximumAge = .seconds(5) }
        #expect(
            newer.cacheStatus
                == CacheStatus(forwarded: .request, freshUntil: Samples.time(190), isStored: true))
        fixture.upstream.rewrite([.production: [.failure(.serverError)]])
        #expect(try await fixture.ask(at: 195).cacheStatus == .hit(freshUntil: Samples.time(190)))
        try await eventually { fixture.verification.flightCount == 0 }
        #expect(try await fixture.ask(at: 500).cacheStatus == .forwarded(.stale))
        let unknown = Fixture([.production: [.failure(.serverError)]])
        #expect(try await unknown.ask(at: 150).cacheStatus == .forwarded(.miss))
        #expect(try await unknown.ask(.apple, at: 150).cacheStatus == .forwarded(.miss))
    }

    // MARK: Failures of Apple

    static let troubles: [(reply: UpstreamReply, reason: DegradedReason, calls: Int, status: Int?)] = [
        (.failure(.unreachable), .upstreamUnreachable, 2, nil), (.failure(.tls), .upstreamTLS, 1, nil),
        (.failure(.timeout), .upstreamTimeout, 2, nil), (.failure(.reset), .upstreamReset, 2, nil),
        (.failure(.serverError), .upstreamServerError, 2, nil),
        (.failure(.unusableAnswer), .upstreamUnusableAnswer, 2, nil),
        (.failure(.unavailable), .upstreamUnavailable, 2, nil),
        (.failure(.requestRefused), .upstreamRequestRefused, 1, nil), (.failure(.stopping), .stopping, 1, nil),
        (.throttled(.seconds(60)), .upstreamPaused, 1, nil),
        (.refusal(.malformed), .upstreamCallsMalformed, 2, 21002),
        (.refusal(.notAuthenticated), .upstreamDisagrees, 2, 21003),
        (.refusal(.secretRejected), .sharedSecretRejected, 1, 21004),
        (.answer(.renewed.with(\.bundleID, "com.example.other")), .upstreamContradiction, 1, nil),
        (.answer(.renewed.with(\.environment, .production)), .upstreamContradiction, 1, nil),
        (.otherEnvironment, .upstreamContradiction, 2, 21007),
    ]

    @Test(arguments: troubles.indices) func `a genuine receipt is answered without Apple, as degraded`(
        index: Int
    ) async throws {
        let trouble = Self.troubles[index]
        let fixture = Fixture([.production: [trouble.reply], .sandbox: [.otherEnvironment]])
        for mode in [Mode.auto, .appleFirst] {
            let answer = try await Fixture([.production: [trouble.reply], .sandbox: [.otherEnvironment]])
                .ask(mode, at: 150)
            #expect(answer.verdict == .genuine && answer.subscriptions.map(\.state) == [.expired])
            #expect(answer.provenance.source == .local && answer.provenance.degradedReasons == [trouble.reason])
            #expect(answer.freshUntil == Samples.time(150), "a degraded answer is not cached")
            #expect(answer.provenance.upstreamStatus == trouble.status)
        }
        let answer = try await fixture.ask(.apple, at: 150)
        #expect(answer.verdict == .undecided(.upstreamDidNotAnswer) && answer.receipt == nil)
        #expect(answer.provenance.degradedReasons == [trouble.reason])
        #expect(fixture.upstream.asked.count == trouble.calls)
    }

    // MARK: The latest receipt, for clients of Apple's form

    private static let body = Array("{\"status\":0}".utf8)

    @Test func `without Apple an earlier answer with other options is passed on`() async throws {
        let fixture = Fixture(sandboxKnows)
        _ = try await fixture.ask(.appleFirst, at: 150)
        fixture.upstream.rewrite([.production: [.failure(.tls)]])
        let answer = try await fixture.ask(.appleFirst, at: 151) { $0.options.excludesOldTransactions = true }
        #expect(answer.provenance.source == .local && answer.upstreamBody == nil)
        #expect(answer.earlierUpstreamBody == Self.body)
        // Clients of the gateway's own form have no use for it.
        for mode in [Mode.auto, .local, .apple] {
            let other = try await fixture.ask(mode, at: 151) { $0.options.excludesOldTransactions = true }
            #expect(other.earlierUpstreamBody == nil, "\(mode)")
        }
    }

    @Test func `without Apple the body of an expired result is passed on`() async throws {
        let fixture = Fixture(sandboxKnows)
        let known = try await fixture.ask(.appleFirst, at: 150)
        fixture.upstream.rewrite([.production: [.failure(.tls)]])
        let stale = try await fixture.ask(.appleFirst, at: 80_000)
        #expect(stale.upstreamBody == known.upstreamBody && stale.earlierUpstreamBody == nil)
        let answer = try await fixture.ask(.appleFirst, at: 200_000)
        #expect(answer.provenance.source == .local && answer.earlierUpstreamBody == Self.body)
    }

    @Test func `a body from one secret is not passed on with another`() async throws {
        let fixture = Fixture(sandboxKnows)
        _ = try await fixture.ask(.appleFirst, at: 150) { $0.options.sentSecret = Secret("right") }
        fixture.upstream.rewrite([.production: [.failure(.tls)]])
        for excludesOld in [false, true] {
            let answer = try await fixture.ask(.appleFirst, at: 151) {
                $0.options.sentSecret = Secret("wrong")
                $0.options.excludesOldTransactions = excludesOld
            }
            #expect(answer.provenance.source == .local && answer.earlierUpstreamBody == nil)
        }
    }

    @Test func `a purged body is not passed on`() async throws {
        let fixture = Fixture(sandboxKnows)
        _ = try await fixture.ask(.appleFirst, at: 150)
        try await fixture.invalidation.purge(transactionID: "1")
        fixture.upstream.rewrite([.production: [.failure(.tls)]])
        let answer = try await fixture.ask(.appleFirst, at: 151) { $0.options.excludesOldTransactions = true }
        #expect(answer.provenance.source == .local && answer.earlierUpstreamBody == nil)
    }

    @Test func `a receipt without subscriptions has no latest receipt`() async throws {
        var fixture = Fixture(sandboxKnows)
        fixture.receipt = Samples.receipt(with: [Period(item: "9", at: 0)])
        #expect(try await fixture.ask(.appleFirst, at: 150).provenance.source == .apple)
        fixture.upstream.rewrite([.production: [.failure(.tls)]])
        let answer = try await fixture.ask(.appleFirst, at: 151) { $0.options.excludesOldTransactions = true }
        #expect(answer.provenance.source == .local && answer.earlierUpstreamBody == nil)
    }

    // MARK: Volume licences

    @Test func `Apple's answer lasts no longer than the app's licence, and reports its end`() async throws {
        var fixture = Fixture(sandboxKnows, remembers: true)
        let end = Samples.forge.contents.creationDate.advanced(bySeconds: 155)
        fixture.receipt = Samples.receipt(with: [Period("1", 0..<100)]) { $0.expirationDate = end }
        let licensed = try await fixture.ask(at: 150)
        #expect(licensed.provenance.source == .apple && licensed.isAppExpired == false)
        #expect(licensed.freshUntil == Samples.time(155))
        #expect(try await fixture.ask(at: 154).provenance.cache == .near)
        for seconds in [155, 156, 1000] as [Int64] {
            let expired = try await fixture.ask(at: seconds)
            #expect(expired.verdict == .genuine && expired.isAppExpired == true, "\(seconds)")
        }
    }

    @Test func `an answer from a node whose clock is behind does not outlast the licence`() throws {
        let end = Samples.forge.contents.creationDate.advanced(bySeconds: 155)
        let receipt = try Samples.verified(
            Samples.receipt(with: [Period("1", 0..<100)]) { $0.expirationDate = end })
        let evaluated = EvaluatedRequest(
            .signed(VerifiedEvidence(.appReceipt(receipt))), for: VerificationRequest(evidence: .appReceipt([])),
            at: Samples.time(150), by: .ofTests, rules: .ofTests)
        let known = CachedResult(.answered(.renewed), fetchedAt: Samples.time(140), freshUntil: Samples.time(160))
        #expect(evaluated.answer(known, from: .shared, nil)?.freshUntil == Samples.time(155))
    }

    @Test func `a temporary fault is overcome by one retry`() async throws {
        let fixture = Fixture([
            .production: [.refusal(.malformed), .otherEnvironment],
            .sandbox: [.failure(.serverError), .answer(.renewed)],
        ])
        #expect(try await fixture.ask(at: 150).provenance.source == .apple)
        #expect(fixture.upstream.asked == [.production, .production, .sandbox, .sandbox])
        #expect(fixture.events.lines.filter { $0.hasPrefix("retried") } == ["retried production", "retried sandbox"])
    }

    @Test func `an earlier result of Apple is preferred to the receipt alone`() async throws {
        let fixture = Fixture(sandboxKnows)
        _ = try await fixture.ask(at: 150)
        fixture.upstream.rewrite([.production: [.failure(.serverError)]])
        let answer = try await fixture.ask(at: 500)
        #expect(answer.subscriptions.map(\.state) == [.active])
        #expect(
            answer.provenance
                == Provenance(
                    source: .apple, cache: .stale, verifiedAt: Samples.time(150),
                    degradedReasons: [.upstreamServerError]))
        // Its dates still count: nothing lasts past its end.
        #expect(try await fixture.ask(at: 1000).subscriptions.map(\.state) == [.expired])
        // After a day the receipt alone is used.
        #expect(try await fixture.ask(at: 180 + 86_400).provenance.source == .local)
    }

    @Test func `an account that is gone is a rejection for an hour`() async throws {
        let fixture = Fixture([.production: [.refusal(.accountNotFound)]])
        for (seconds, cache) in [(150, Provenance.Cache.miss), (3749, .shared), (3750, .stale)] {
            let answer = try await fixture.ask(at: Int64(seconds))
            #expect(answer.verdict == .rejected(.accountNotFound) && answer.provenance.cache == cache)
        }
    }

    @Test func `a near-cache hit checks the permission of each client`() async throws {
        let fixture = Fixture([.production: [.refusal(.accountNotFound)]], remembers: true)
        for edit in [{ (_: inout RequestDraft) in }, { $0.options.expectations.deviceIdentifier = [1] }] {
            let owner = try await fixture.ask(at: 150, edit)
            guard case .rejected = owner.verdict else {
                Issue.record("\(owner.verdict)")
                continue
            }
            await #expect(throws: GatewayError.appNotPermitted(Samples.app)) {
                try await fixture.ask(at: 151) {
                    edit(&$0)
                    $0.client.permittedApps = .only(["com.example.other"])
                }
            }
        }
    }

    @Test func `no client can open the circuit breaker`() async throws {
        for reply in [UpstreamReply.refusal(.malformed), .failure(.requestRefused), .refusal(.secretRejected)] {
            let fixture = Fixture([.production: [reply]])
            for number in 1...60 {
                _ = try await fixture.ask(.appleFirst, at: 150) { $0.options.sentSecret = Secret("\(number)") }
            }
            #expect(fixture.guards.health(of: .production).breaker == .closed)
        }
    }

    @Test func `a disagreement is not repeated for five minutes, and counted`() async throws {
        let fixture = Fixture([.production: [.refusal(.notAuthenticated)]])
        for seconds in [150, 449, 450] as [Int64] {
            #expect(try await fixture.ask(at: seconds).provenance.degradedReasons == [.upstreamDisagrees])
        }
        #expect(fixture.upstream.asked.count == 4)
        #expect(fixture.events.lines.count { $0 == "disagreed production notAuthenticated" } == 4)
    }

    @Test(
        arguments: [
            (.refusal(.notAuthenticated), .upstreamDisagrees, 300),
            (.failure(.answerTooLarge), .upstreamAnswerTooLarge, 60),
        ] as [(UpstreamReply, DegradedReason, Int64)])
    func `what lies in the receipt is not asked again, although an earlier answer is given`(
        reply: UpstreamReply, reason: DegradedReason, seconds: Int64
    ) async throws {
        let fixture = Fixture([.production: [.answer(.renewed)]])
        _ = try await fixture.ask(at: 150)
        fixture.upstream.rewrite([.production: [reply]])
        var asked: [Int] = []
        for time in [500, 500 + seconds - 1, 500 + seconds] {
            let answer = try await fixture.ask(at: time)
            #expect(answer.provenance.degradedReasons == [reason] && answer.provenance.cache == .stale)
            asked.append(fixture.upstream.asked.count)
        }
        #expect(asked[0] == asked[1] && asked[1] < asked[2])
        let local = try await fixture.ask(.local, at: 500 + seconds) { $0.options.maximumAge = .seconds(1) }
        #expect(local.provenance.source == .local && local.provenance.degradedReasons == [])
        _ = try await fixture.ask(at: 501 + seconds) { $0.options.maximumAge = .zero }
        #expect(fixture.upstream.asked.count > asked[2])
        fixture.upstream.rewrite([.production: [.answer(.renewed)]])
        #expect(try await fixture.ask(at: 501 + 2 * seconds).provenance.degradedReasons == [])
    }

    @Test func `an answer that another node got ends a remembered failure`() async throws {
        let ports = FleetPorts.embedded(), script: ScriptedUpstream.Script = [.production: [.answer(.renewed)]]
        let fixture = Fixture(script, ports: ports), other = Fixture(script, ports: ports)
        _ = try await fixture.ask(at: 150)
        fixture.upstream.rewrite([.production: [.refusal(.notAuthenticated)]])
        #expect(try await fixture.ask(at: 500).provenance.degradedReasons == [.upstreamDisagrees])
        #expect(try await other.ask(at: 510).provenance.degradedReasons == [])
        fixture.upstream.rewrite(script)
        #expect(try await fixture.ask(at: 520).provenance.cache == .shared)
        let asked = fixture.upstream.asked.count
        #expect(try await fixture.ask(at: 600).provenance.degradedReasons == [])
        #expect(fixture.upstream.asked.count == asked + 1)
    }

    @Test func `a wrong secret is reported each time`() async throws {
        let fixture = Fixture([.production: [.refusal(.secretRejected)]])
        for _ in 1...3 { _ = try await fixture.ask(at: 150) }
        #expect(fixture.upstream.asked.count == 3)
    }

    // MARK: Guards

    @Test func `after five failures in a row the circuit breaker is open`() async throws {
        let fixture = Fixture([.production: [.failure(.tls)]])
        for _ in 1...5 { _ = try await fixture.ask(.apple, at: 150) }
        let answer = try await fixture.ask(at: 150)
        #expect(answer.provenance.degradedReasons == [.circuitOpen] && fixture.upstream.asked.count == 5)
        #expect(fixture.events.lines.contains("breaker production trip"))
        #expect(fixture.guards.health(of: .production).breaker == .open)
        #expect(fixture.guards.health(of: .sandbox).breaker == .closed)
    }

    @Test func `a pause from Apple is respected`() async throws {
        let fixture = Fixture([.production: [.throttled(.seconds(60))]])
        for _ in 1...3 {
            #expect(try await fixture.ask(at: 150).provenance.degradedReasons == [.upstreamPaused])
        }
        #expect(fixture.upstream.asked.count == 1 && fixture.guards.health(of: .production).pausedFor != nil)
    }

    @Test func `the budget for requests to Apple is respected`() async throws {
        var policy = UpstreamGuardPolicy()
        policy.budget = RatePolicy(name: "apple", quota: 1, window: .seconds(3600), burst: 2)
        let fixture = Fixture([.production: [.refusal(.secretRejected)]], guardPolicy: policy)
        for reason in [DegradedReason.sharedSecretRejected, .sharedSecretRejected, .upstreamBudget] {
            #expect(try await fixture.ask(at: 150).provenance.degradedReasons == [reason])
        }
    }

    // MARK: Flights

    @Test func `a thousand identical requests cause one request to Apple`() async throws {
        let gate = Gate()
        let fixture = Fixture([.production: [.answer(.renewed)]], gate: gate)
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 1...1000 { group.addTask { try await fixture.ask(.apple, at: 150) } }
            // All but those that have not begun have joined; the gate is open for later ones as well.
            try await eventually { fixture.events.lines.count(where: { $0 == "looked up miss" }) >= 1000 }
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 1000 && answers.allSatisfy { $0.provenance.source == .apple })
        #expect(fixture.upstream.asked.count == 1)
        #expect(fixture.events.lines.count { $0 == "joined" } == 999)
    }

    @Test func `a client that disconnects does not cancel the request of others`() async throws {
        let gate = Gate()
        let fixture = Fixture([.production: [.answer(.renewed)]], gate: gate)
        let first = Task { try await fixture.ask(.auto, at: 150) }
        try await eventually { !fixture.upstream.asked.isEmpty }
        let second = Task { try await fixture.ask(.apple, at: 150) }
        try await eventually { fixture.events.lines.count(where: { $0 == "looked up miss" }) >= 2 }
        first.cancel()
        #expect(try await first.value.provenance.degradedReasons == [.upstreamSlow])
        gate.open()
        #expect(try await second.value.provenance.source == .apple)
        #expect(fixture.upstream.asked.count == 1)
    }

    @Test func `after its timeout a request gets the receipt's answer, the next one the result`() async throws {
        let gate = Gate()
        var timeouts = UpstreamTimeouts.unhurried
        timeouts.softTimeout = .milliseconds(1)
        let fixture = Fixture([.production: [.answer(.renewed)]], gate: gate, timeouts: timeouts)
        let early = try await fixture.ask(at: 150)
        #expect(early.provenance.source == .local && early.provenance.degradedReasons == [.upstreamSlow])
        gate.open()
        try await eventually { fixture.verification.flightCount == 0 }
        #expect(try await fixture.ask(at: 151).provenance.cache == .shared)
        #expect(fixture.upstream.asked.count == 1)
    }

    @Test func `requests beyond the limit wait for a slot`() async throws {
        let gate = Gate()
        var policy = UpstreamGuardPolicy()
        policy.concurrency = ConcurrencyLimit.Policy(minimum: 2, maximum: 2, initial: 2)
        let fixture = Fixture([.production: [.answer(.renewed)]], gate: gate, guardPolicy: policy)
        try await withThrowingTaskGroup(of: Answer.self) { group in
            for number in 1...10 {
                group.addTask {
                    try await fixture.ask(.apple, at: 150) { $0.options.sentSecret = Secret("\(number)") }
                }
            }
            try await eventually { fixture.guards.health(of: .production).waiting == 8 }
            #expect(fixture.upstream.asked.count == 2 && fixture.guards.health(of: .production).inFlight == 2)
            gate.open()
            for try await answer in group { #expect(answer.provenance.source == .apple) }
        }
        #expect(fixture.upstream.asked.count == 10 && fixture.guards.health(of: .production).inFlight == 0)
    }

    @Test func `requests that wait for a slot respect a pause, and are not charged`() async throws {
        let gate = Gate()
        var policy = UpstreamGuardPolicy()
        policy.concurrency = ConcurrencyLimit.Policy(minimum: 2, maximum: 2, initial: 2)
        policy.budget = RatePolicy(name: "apple", quota: 1, window: .seconds(3600), burst: 10)
        let fixture = Fixture([.production: [.throttled(.seconds(60))]], gate: gate, guardPolicy: policy)
        try await withThrowingTaskGroup(of: Answer.self) { group in
            for number in 1...10 {
                group.addTask {
                    try await fixture.ask(.apple, at: 150) { $0.options.sentSecret = Secret("\(number)") }
                }
            }
            try await eventually { fixture.guards.health(of: .production).waiting == 8 }
            gate.open()
            for try await answer in group { #expect(answer.provenance.degradedReasons == [.upstreamPaused]) }
        }
        #expect(fixture.upstream.asked.count == 2)
        #expect(fixture.guards.health(of: .production).budgetRemaining == 8)
    }

    @Test func `a request that waits for a slot is charged when it has one`() async throws {
        let gate = Gate()
        var policy = UpstreamGuardPolicy()
        policy.concurrency = ConcurrencyLimit.Policy(minimum: 1, maximum: 1, initial: 1)
        policy.budget = RatePolicy(name: "apple", quota: 1, window: .seconds(3600), burst: 10)
        let fixture = Fixture([.production: [.answer(.renewed)]], gate: gate, guardPolicy: policy)
        async let first = fixture.ask(.apple, at: 150) { $0.options.sentSecret = Secret("1") }
        try await eventually { gate.waitingCount == 1 }
        async let second = fixture.ask(.apple, at: 150) { $0.options.sentSecret = Secret("2") }
        try await eventually { fixture.guards.health(of: .production).waiting == 1 }
        #expect(fixture.guards.health(of: .production).budgetRemaining == 9)
        gate.open()
        #expect(try await (first.provenance.source, second.provenance.source) == (.apple, .apple))
        #expect(fixture.guards.health(of: .production).budgetRemaining == 8)
    }

    @Test func `a full queue rejects the next request`() async throws {
        let gate = Gate()
        var policy = UpstreamGuardPolicy()
        policy.concurrency = ConcurrencyLimit.Policy(minimum: 1, maximum: 1, initial: 1)
        policy.maximumWaiting = 1
        let fixture = Fixture([.production: [.answer(.renewed)]], gate: gate, guardPolicy: policy)
        async let first = fixture.ask(.apple, at: 150) { $0.options.sentSecret = Secret("1") }
        try await eventually { fixture.guards.health(of: .production).inFlight == 1 }
        async let second = fixture.ask(.apple, at: 150) { $0.options.sentSecret = Secret("2") }
        try await eventually { fixture.guards.health(of: .production).waiting == 1 }
        let third = try await fixture.ask(.auto, at: 150) { $0.options.sentSecret = Secret("3") }
        #expect(third.provenance.degradedReasons == [.upstreamSaturated])
        gate.open()
        #expect(try await (first.provenance.source, second.provenance.source) == (.apple, .apple))
    }

    // MARK: Memory

    @Test func `memory is reserved for the receipt until the result, for the call until its end`() async throws {
        let gate = Gate()
        var timeouts = UpstreamTimeouts.unhurried
        timeouts.softTimeout = .milliseconds(1)
        let fixture = Fixture([.production: [.answer(.renewed)]], gate: gate, timeouts: timeouts)
        var reservation: TestReservation? = TestReservation(most: .max)
        let ledger = try #require(reservation?.ledger)
        let answer = try await fixture.ask(at: 150) { [reservation] in $0.reservation = reservation }
        reservation = nil
        #expect(answer.provenance.degradedReasons == [.upstreamSlow])
        // The request to Apple continues: the receipt is held, and the call in two copies of its base64.
        try await eventually { gate.waitingCount != 0 }
        let call = 2 * (fixture.receipt.count / 3 * 4 + 256)
        #expect(!ledger.isReleased && ledger.bytes > call)
        gate.open()
        try await eventually { ledger.isReleased }
        #expect(ledger.most > call && ledger.bytes == ledger.most - call)
    }

    @Test func `without memory a receipt is answered without a request to Apple`() async throws {
        let fixture = Fixture(sandboxKnows)
        let answer = try await fixture.ask(at: 150) { $0.reservation = TestReservation(most: 0) }
        #expect(answer.provenance.source == .local && answer.provenance.degradedReasons == [.upstreamSaturated])
        let asked = try await fixture.ask(.apple, at: 150) { $0.reservation = TestReservation(most: 0) }
        #expect(asked.verdict == .undecided(.upstreamDidNotAnswer))
        #expect(fixture.upstream.asked.isEmpty)
    }

    @Test func `without memory for the call no request is sent, and the slot is released`() async throws {
        let fixture = Fixture(sandboxKnows)
        let most = 2 * (fixture.receipt.count / 3 * 4 + 256)
        let answer = try await fixture.ask(at: 150) { $0.reservation = TestReservation(most: most) }
        #expect(answer.provenance.degradedReasons == [.upstreamSaturated])
        #expect(fixture.upstream.asked.isEmpty && fixture.guards.health(of: .production).inFlight == 0)
    }

    // MARK: Lifecycle

    @Test func `receipts that suffice do not use an endpoint near its end`() async throws {
        // From seven days before the end, the endpoint is only the fallback.
        let fixture = Fixture(sandboxKnows, dates: LifecycleDates(sunset: Samples.time(7 * 86_400)))
        // The first receipt shows if the end is postponed.
        #expect(try await fixture.ask(at: 50).provenance.source == .apple)
        let asked = fixture.upstream.asked
        #expect(try await fixture.ask(at: 51).provenance.source == .local)
        #expect(fixture.upstream.asked == asked)
        #expect(try await fixture.ask(at: 150).provenance.source == .apple)
        #expect(try await fixture.ask(.apple, at: 50).provenance.source == .apple)
    }
}

/// A reservation with a limit, whose count outlives it.
private final class TestReservation: MemoryReservation {
    final class Ledger: Sendable {
        private let state = Mutex((bytes: 0, most: 0, isReleased: false))

        var bytes: Int { state.withLock { $0.bytes } }
        var most: Int { state.withLock { $0.most } }
        var isReleased: Bool { state.withLock { $0.isReleased } }

        func add(_ bytes: Int, upTo limit: Int) -> Bool {
            state.withLock { state in
                guard state.bytes + bytes <= limit else { return false }
                state.bytes += bytes
                state.most = max(state.most, state.bytes)
                return true
            }
        }

        func release() { state.withLock { $0.isReleased = true } }
    }

    let ledger = Ledger()
    private let limit: Int

    init(most limit: Int) { self.limit = limit }

    deinit { ledger.release() }

    func grow(by bytes: Int) -> Bool { ledger.add(bytes, upTo: limit) }
    func shrink(by bytes: Int) { _ = ledger.add(-bytes, upTo: .max) }
}
