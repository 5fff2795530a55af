// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Resilience
import Synchronization
import Testing

@testable import Gateway

/// Verifications after server notifications. The subscription's period ends 240 seconds after it was signed; in the
/// sandbox, evidence is an answer for 30 seconds.
struct NotifiedVerificationTests {
    /// The states that notifications have left.
    private final class KnownStates: CustomerStates {
        private let states = Mutex<[PurchaseChain: CustomerState]>([:])
        private let lookups = Mutex(0)
        private let isReachable: Bool

        init(isReachable: Bool = true) { self.isReachable = isReachable }

        var lookupCount: Int { lookups.withLock(\.self) }

        func set(_ state: CustomerState, in environment: Environment = .sandbox, app: String = SignedSamples.app) {
            let chain = PurchaseChain(
                bundleID: app, environment: environment, originalTransactionID: SignedSamples.original)
            states.withLock { $0[chain] = state }
        }

        func states(of chains: [PurchaseChain]) -> [CustomerState]? {
            lookups.withLock { $0 += 1 }
            guard isReachable else { return nil }
            return states.withLock { states in chains.compactMap { states[$0] } }
        }
    }

    private static let evidence = VerificationRequest([SignedSamples.transaction()])

    /// Returns a state of the transaction in the evidence, or of another one.
    private static func state(
        _ id: String = "2000000900000002", signed seconds: Int64, until end: Int64 = 240, revoked: Int64? = nil
    ) -> CustomerState {
        var transaction = Transaction(productID: "com.example.forge.monthly", transactionID: id)
        transaction.originalTransactionID = SignedSamples.original
        transaction.purchaseDate = SignedSamples.time(end - 300)
        transaction.expiresDate = SignedSamples.time(end)
        transaction.cancellationDate = revoked.map(SignedSamples.time)
        var fields = SignedTransactionFields()
        fields.signedDate = SignedSamples.time(seconds)
        transaction.signedFields = .value(fields)
        var plan = Renewal(originalTransactionID: SignedSamples.original), planFields = SignedRenewalFields()
        planFields.signedDate = SignedSamples.time(seconds)
        plan.signedFields = .value(planFields)
        return CustomerState(transactions: [transaction], renewals: [plan])
    }

    /// A fixture whose Apple does not answer.
    private static func fixture(_ states: KnownStates, apple: [UpstreamResult] = [.unanswered(.upstreamTimeout)])
        -> CustomerFixture
    {
        CustomerFixture([SignedSamples.original: apple], states: states)
    }

    private static func notify(_ fixture: CustomerFixture) async throws {
        try await fixture.invalidation.purge(transactionID: SignedSamples.original)
    }

    /// Purges so much that earlier purges are unknown.
    private static func forgetPurges(_ fixture: CustomerFixture) async throws {
        for number in 0...PurgeHistory.Limits.purges {
            try await fixture.invalidation.purge(transactionID: "\(number)")
        }
    }

    @Test func `a refund ends an answer made of evidence alone, also a repeated one`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        let before = try await fixture.ask(Self.evidence, at: SignedSamples.time(5))
        #expect(before.provenance.source == .local && before.subscriptions[0].state == .active)
        #expect(states.lookupCount == 0)
        let validity = try #require(AnswerValidity(before, at: SignedSamples.time(5)))
        #expect(validity.isValid(at: SignedSamples.time(6), maximumAge: nil))
        states.set(Self.state(signed: 6, revoked: 6))
        try await Self.notify(fixture)
        #expect(!validity.isValid(at: SignedSamples.time(6), maximumAge: nil))
        let after = try await fixture.ask(Self.evidence, at: SignedSamples.time(6))
        #expect(after.subscriptions[0].state == .revoked && after.provenance.source == .notification)
        #expect(after.provenance.verifiedAt == SignedSamples.time(6) && !after.provenance.isDegraded)
        #expect(fixture.customers.asked.isEmpty)
    }

    @Test func `a renewal answers for old evidence without a request to Apple, while it is fresh`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        states.set(Self.state("2000000900000003", signed: 245, until: 540))
        try await Self.notify(fixture)
        let answer = try await fixture.ask(Self.evidence, at: SignedSamples.time(250))
        #expect(answer.provenance.source == .notification && answer.subscriptions[0].state == .active)
        #expect(answer.transactions.map(\.transactionID) == ["2000000900000002", "2000000900000003"])
        #expect(fixture.customers.asked.isEmpty)
        // 30 seconds after it was signed.
        let later = try await fixture.ask(Self.evidence, at: SignedSamples.time(276))
        #expect(fixture.customers.asked == [SignedSamples.original])
        #expect(later.provenance.degradedReasons == [.upstreamTimeout] && later.subscriptions[0].state == .active)
    }

    @Test func `a receipt in a notification, which names no plan, leaves the state to Apple`() async throws {
        let states = KnownStates()
        var lapsed = UpstreamAnswer.customer(SignedSamples.original)
        lapsed.transactions.removeLast()
        var plan = Renewal(originalTransactionID: SignedSamples.original)
        plan.gracePeriodExpiresDate = SignedSamples.time(1000)
        lapsed.renewals = [plan]
        let fixture = Self.fixture(states, apple: [.answered(lapsed)])
        var state = Self.state(signed: 245)
        state.renewals = []
        states.set(state)
        try await Self.notify(fixture)
        let answer = try await fixture.ask(Self.evidence, at: SignedSamples.time(250))
        #expect(answer.subscriptions.map(\.state) == [.inGracePeriod] && answer.provenance.source == .serverAPI)
    }

    @Test func `an accepted age counts from the signature of the notification`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        states.set(Self.state(signed: 100))
        try await Self.notify(fixture)
        for (age, calls) in [(20, 0), (5, 1)] {
            let request = Self.evidence.with { $0.maximumAge = .seconds(age) }
            _ = try await fixture.ask(request, at: SignedSamples.time(110))
            #expect(fixture.customers.asked.count == calls)
        }
    }

    @Test func `an older notification changes nothing`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        var state = Self.state(signed: -10, revoked: -10)
        state.renewals = []
        states.set(state)
        try await Self.notify(fixture)
        let answer = try await fixture.ask(Self.evidence, at: SignedSamples.time(5))
        #expect(answer.provenance.source == .local && answer.subscriptions[0].state == .active)
    }

    @Test func `an older revocation is known when Apple fails, without a purge that names it`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        states.set(Self.state(signed: 50, revoked: 50))
        let answer = try await fixture.ask(Self.evidence, at: SignedSamples.time(200))
        #expect(answer.subscriptions[0].state == .revoked && answer.provenance.source == .notification)
        #expect(answer.provenance.degradedReasons == [.upstreamTimeout])
    }

    /// A transaction, and newer ones of more chains than are looked up.
    private static func manyChains(_ type: String = "Auto-Renewable Subscription") -> VerificationRequest {
        VerificationRequest(
            [SignedSamples.transaction()]
                + (1...EvidenceWithNotifications.Limits.chains).map { number in
                    SignedSamples.transaction {
                        ($0.transactionID, $0.originalTransactionID) = ("coins \(number)", "coins \(number)")
                        ($0.productID, $0.type) = ("com.example.forge.coins\(number)", type)
                        $0.purchaseDate = SignedSamples.time(Int64(number - 50))
                        if type == "Consumable" { $0.expiresDate = nil }
                    }
                })
    }

    /// Earlier purges, for which each chain may have a new state.
    enum EarlierPurges: CaseIterable { case forgotten, ofTheApp, ofEachChain }

    @Test(arguments: EarlierPurges.allCases)
    func `of many chains, the one that a purge named last is looked up`(earlier: EarlierPurges) async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        states.set(Self.state(signed: 6, revoked: 6))
        switch earlier {
        case .forgotten: try await Self.forgetPurges(fixture)
        case .ofTheApp:
            let all = Purge.all(of: SignedSamples.app)
            try await fixture.invalidation.purge(transactionID: all.id, in: all.bundleID)
        case .ofEachChain:
            for number in 1...EvidenceWithNotifications.Limits.chains {
                try await fixture.invalidation.purge(transactionID: "coins \(number)")
            }
        }
        try await Self.notify(fixture)
        let answer = try await fixture.ask(Self.manyChains(), at: SignedSamples.time(7))
        let revoked = answer.subscriptions.filter { $0.state == .revoked }
        #expect(revoked.map(\.originalTransactionID) == [SignedSamples.original])
    }

    @Test func `consumables are looked up last, where no purge is known`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        states.set(Self.state(signed: 6, revoked: 6))
        try await Self.forgetPurges(fixture)
        let request = Self.manyChains("Consumable").with { $0.maximumAge = .seconds(1) }
        let answer = try await fixture.ask(request, at: SignedSamples.time(10))
        #expect(answer.subscriptions.map(\.state) == [.revoked])
    }

    @Test func `a state that was read is kept when Apple fails, although the chain is one of many`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        states.set(Self.state(signed: 6, revoked: 6))
        try await Self.notify(fixture)
        let request = Self.manyChains().with { $0.maximumAge = .seconds(1) }
        let answer = try await fixture.ask(request, at: SignedSamples.time(10))
        #expect(answer.provenance.isDegraded && !fixture.customers.asked.isEmpty)
        let revoked = answer.subscriptions.filter { $0.state == .revoked }
        #expect(revoked.map(\.originalTransactionID) == [SignedSamples.original])
    }

    @Test func `a reported status ends an answer, also beside a newer plan of the client`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        var plan = Renewal(originalTransactionID: SignedSamples.original), fields = SignedRenewalFields()
        fields.signedDate = SignedSamples.time(50)
        (plan.signedFields, plan.status) = (.value(fields), ReportedStatus(.revoked, at: SignedSamples.time(50)))
        states.set(CustomerState(renewals: [plan]))
        try await Self.notify(fixture)
        let newerPlan = SignedSamples.renewalInfo { $0.signedDate = SignedSamples.time(60) }
        for evidence in [Self.evidence, VerificationRequest([SignedSamples.transaction()], renewalInfos: [newerPlan])] {
            let answer = try await fixture.ask(evidence, at: SignedSamples.time(70))
            #expect(answer.subscriptions[0].state == .revoked && answer.provenance.source == .notification)
        }
    }

    @Test(arguments: ["com.example.forge.basic", "com.example.forge.weekly"])
    func `a downgrade that a notification reported stays one in a newer plan for the same product`(next: String)
        async throws
    {
        let states = KnownStates(), fixture = Self.fixture(states), basic = "com.example.forge.basic"
        let evidence = { (date: Int64, product: String) in
            VerificationRequest(
                [SignedSamples.transaction()],
                renewalInfos: [
                    SignedSamples.renewalInfo {
                        ($0.signedDate, $0.autoRenewProductID) = (SignedSamples.time(date), product)
                    }
                ])
        }
        var plan = try #require(
            try await fixture.ask(evidence(50, basic), at: SignedSamples.time(51)).subscriptions[0].renewal)
        plan.isDowngrade = true
        states.set(CustomerState(renewals: [plan]))
        try await Self.notify(fixture)
        let answer = try await fixture.ask(evidence(60, next), at: SignedSamples.time(70))
        #expect(answer.subscriptions[0].change == (next == basic ? .downgrade : .crossgrade))
    }

    @Test func `an answer of Apple that is older than the notification does not outweigh it`() async throws {
        let states = KnownStates()
        var customer = UpstreamAnswer.customer(SignedSamples.original)
        customer.transactions = Self.state(signed: 20, until: 240).transactions
        let fixture = Self.fixture(states, apple: [.answered(customer)])
        states.set(Self.state(signed: 60, revoked: 60))
        try await Self.notify(fixture)
        let answer = try await fixture.ask(Self.evidence, at: SignedSamples.time(200))
        #expect(answer.provenance.source == .serverAPI && answer.subscriptions[0].state == .revoked)
    }

    @Test func `an upgrade ends the period that it replaced, whose own state was not reported`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        var upgrade = Self.state("2000000900000003", signed: 25, until: 310)
        upgrade.transactions[0].productID = "com.example.forge.gold"
        upgrade.transactions[0].cancellationDate = SignedSamples.time(20)
        states.set(upgrade)
        try await Self.notify(fixture)
        let answer = try await fixture.ask(Self.evidence, at: SignedSamples.time(26))
        #expect(answer.provenance.source == .notification)
        #expect(answer.subscriptions[0].state == .revoked)
        #expect(answer.subscriptions[0].transaction.productID == "com.example.forge.gold")
    }

    @Test func `a refund of the last known period leaves it to Apple if another one followed`() async throws {
        let states = KnownStates()
        var later = UpstreamAnswer.customer(SignedSamples.original)
        later.transactions = Self.state("2000000900000003", signed: 299, until: 540).transactions
        let fixture = Self.fixture(states, apple: [.answered(later)])
        states.set(Self.state(signed: 298, revoked: 298))
        try await Self.notify(fixture)
        let answer = try await fixture.ask(Self.evidence, at: SignedSamples.time(300))
        #expect(answer.provenance.source == .serverAPI && answer.subscriptions[0].state == .active)
    }

    @Test func `states of another app or environment are another customer's`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        states.set(Self.state(signed: 6, revoked: 6), in: .production)
        states.set(Self.state(signed: 6, revoked: 6), app: "com.example.other")
        try await Self.notify(fixture)
        let answer = try await fixture.ask(Self.evidence, at: SignedSamples.time(7))
        #expect(answer.provenance.source == .local && answer.subscriptions[0].state == .active)
        #expect(states.lookupCount == 1)
    }

    @Test func `while a reported state cannot be read, Apple answers, or the answer is labelled`() async throws {
        let states = KnownStates(isReachable: false)
        var customer = UpstreamAnswer.customer(SignedSamples.original)
        customer.transactions = Self.state(signed: 7, revoked: 6).transactions
        let fixture = Self.fixture(states, apple: [.answered(customer)]), failing = Self.fixture(states)
        for fixture in [fixture, failing] { try await Self.notify(fixture) }
        let answer = try await fixture.ask(Self.evidence, at: SignedSamples.time(7))
        #expect(answer.subscriptions[0].state == .revoked && answer.provenance.source == .serverAPI)
        let local = try await failing.ask(Self.evidence, at: SignedSamples.time(7))
        #expect(local.provenance.source == .local && local.provenance.degradedReasons == [.upstreamTimeout])
        let alone = CustomerFixture([:], apps: [], states: states)
        try await Self.notify(alone)
        let labelled = try await alone.ask(Self.evidence, at: SignedSamples.time(7))
        #expect(labelled.provenance.degradedReasons == [.sharedStoreUnreachable])
    }

    @Test(arguments: [true, false])
    func `while it is unknown what notifications reported, fresh evidence is answered with a label, without Apple`(
        hasApple: Bool
    ) async throws {
        let states = KnownStates(isReachable: false)
        let fixture = CustomerFixture(
            [SignedSamples.original: [.answered(.customer(SignedSamples.original))]], states: states, hasApple: hasApple
        )
        try await Self.forgetPurges(fixture)
        let answer = try await fixture.ask(Self.evidence, at: SignedSamples.time(7))
        #expect(answer.verdict == .genuine && answer.provenance.source == .local)
        #expect(answer.provenance.degradedReasons == [.sharedStoreUnreachable])
        #expect(states.lookupCount == 1 && fixture.customers.asked.isEmpty)
        #expect(AnswerValidity(answer, at: SignedSamples.time(7)) == nil)
    }

    @Test(arguments: [(true, Mode.auto), (true, .appleFirst), (false, .auto), (false, .appleFirst)])
    func `old evidence is answered with what notifications reported, where Apple cannot be asked`(
        hasApple: Bool, mode: Mode
    ) async throws {
        let states = KnownStates(), unreachable = KnownStates(isReachable: false)
        states.set(Self.state(signed: 50, revoked: 50))
        let request = Self.evidence.with { $0.mode = mode }
        let fixture = CustomerFixture([:], apps: [], states: states, hasApple: hasApple)
        try await Self.forgetPurges(fixture)
        let answer = try await fixture.ask(request, at: SignedSamples.time(200))
        #expect(answer.subscriptions[0].state == .revoked && answer.provenance.source == .notification)
        #expect(answer.verdict == .genuine && !answer.provenance.isDegraded)
        let validity = try #require(AnswerValidity(answer, at: SignedSamples.time(200)))
        try await Self.notify(fixture)
        #expect(!validity.isValid(at: SignedSamples.time(201), maximumAge: nil))
        let lacking = CustomerFixture([:], apps: [], states: unreachable, hasApple: hasApple)
        try await Self.forgetPurges(lacking)
        let labelled = try await lacking.ask(request, at: SignedSamples.time(200))
        #expect(labelled.provenance.degradedReasons == [.sharedStoreUnreachable])
    }

    @Test func `states are read although so many purges followed that none of the chain is kept`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        states.set(Self.state(signed: 6, revoked: 6))
        try await Self.notify(fixture)
        try await Self.forgetPurges(fixture)
        let answer = try await fixture.ask(Self.evidence, at: SignedSamples.time(7))
        #expect(answer.subscriptions[0].state == .revoked && answer.provenance.source == .notification)
    }

    @Test func `the modes local and apple mean what they say`() async throws {
        let states = KnownStates(), fixture = Self.fixture(states)
        states.set(Self.state(signed: 6, revoked: 6))
        try await Self.notify(fixture)
        var request = VerificationRequest([SignedSamples.transaction()], mode: .local)
        let local = try await fixture.ask(request, at: SignedSamples.time(7))
        #expect(local.provenance.source == .local && local.subscriptions[0].state == .active)
        request = request.with { $0.mode = .apple }
        let apple = try await fixture.ask(request, at: SignedSamples.time(7))
        #expect(apple.verdict == .undecided(.upstreamDidNotAnswer) && states.lookupCount == 0)
    }
}
