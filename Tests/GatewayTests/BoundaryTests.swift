// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Gateway

/// A promise to app developers: no answer says active past the end, however it was cached.
struct BoundaryTests {
    @Test(arguments: 0..<24) func `nothing is active past its boundary, whatever came before`(seed: UInt64) async throws
    {
        _ = try await Self.play(seed)
    }

    /// One history in about fifty has no cached answer: that none of eight has one has a probability of 3e-14.
    @Test func `histories have cached answers`() async throws {
        var paths: Set<Provenance.Cache> = []
        for seed in UInt64(100)..<108 { paths.formUnion(try await Self.play(seed)) }
        #expect(paths.count >= 2)
    }

    /// Plays a history, and returns the places that answers came from.
    private static func play(_ seed: UInt64) async throws -> Set<Provenance.Cache> {
        var randomness = Chance(seed: TestSeed.number(seed))
        let clock = TestClock(Samples.created)
        let upstream = ScriptedUpstream([:])
        let connection = UpstreamConnection(
            upstream, guards: UpstreamGuards(), lifecycle: UpstreamLifecycle(), timeouts: UpstreamTimeouts())
        let verification = UpstreamVerification(
            connection, fleet: .embedded(), policy: CachePolicy { 0.5 }, observe: EventLog().observe,
            clock: { clock.time })
        let service = RememberingService(
            VerificationService(verifier: CurrentVerifier(Samples.verifier), apple: verification))
        let receipts = (0..<3).map { _ in
            Samples.receipt(with: randomness.periods()) { receipt in
                guard randomness.isOne(in: 3) else { return }
                receipt.expirationDate = receipt.creationDate.advanced(bySeconds: randomness.number(2000))
            }
        }
        var paths: Set<Provenance.Cache> = []
        for _ in 0..<120 {
            if randomness.isOne(in: 4) {
                upstream.rewrite([.production: [.otherEnvironment], .sandbox: [randomness.reply()]])
            }
            let now = clock.time.advanced(by: .seconds(randomness.step()))
            clock.set(now)
            let request = VerificationRequest(
                evidence: .appReceipt(receipts[randomness.number(3)]), mode: Mode.allCases[randomness.number(4)]
            )
            .with { $0.maximumAge = randomness.isOne(in: 5) ? .seconds(randomness.number(100)) : nil }
            let answer = try await service.verify(request, at: now)
            paths.insert(answer.provenance.cache)
            for subscription in answer.subscriptions where subscription.state == .active {
                #expect(subscription.transaction.expiresDate.map { now < $0 } == true)
                #expect(subscription.transaction.cancellationDate == nil)
            }
            for subscription in answer.subscriptions where subscription.state == .inGracePeriod {
                #expect(subscription.renewal?.gracePeriodExpiresDate.map { now < $0 } == true)
            }
            if let receipt = answer.receipt, let end = receipt.expirationDate {
                #expect(answer.isAppExpired == true || (now < end && answer.freshUntil <= end))
            }
            let facts = EntitlementFacts(answer.transactions, answer.subscriptions.compactMap(\.renewal))
            if let boundary = facts.nextBoundary(after: now) {
                #expect(answer.freshUntil <= boundary)
            }
        }
        return paths
    }
}

/// A reproducible random number generator.
private struct Chance {
    private var state: UInt64

    init(seed: UInt64) { state = seed &+ 1 }

    /// Returns a number from 0 to below `bound`.
    mutating func number(_ bound: Int64) -> Int64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int64(state >> 33) % bound
    }

    mutating func number(_ bound: Int) -> Int { Int(number(Int64(bound)) as Int64) }

    /// Returns mostly a small step forward, sometimes a large one, sometimes one back.
    mutating func step() -> Int64 {
        switch number(10) as Int {
        case 0: -number(40)
        case 1: number(400)
        case 2: number(4000)
        default: number(15)
        }
    }

    mutating func periods() -> [Period] {
        let count: Int = 1 + number(3)
        return (0..<count).map { index in
            let start: Int64 = number(500) - 100
            let length: Int64 = 1 + number(600)
            let chain: Int = number(2), isCancelled = isOne(in: 6)
            let period = Period("\(index)", start..<(start + length), of: "\(chain)")
            return isCancelled ? period.cancelled : period
        }
    }

    mutating func isOne(in bound: Int) -> Bool {
        let number: Int = number(bound)
        return number == 0
    }

    mutating func reply() -> UpstreamReply {
        switch number(8) as Int {
        case 0: .failure(.serverError)
        case 1: .refusal(.accountNotFound)
        case 2: .refusal(.notAuthenticated)
        default: .answer(answer())
        }
    }

    private mutating func answer() -> UpstreamAnswer {
        let transactions = periods().map { period in
            var transaction = Transaction(productID: "monthly", transactionID: "a\(period.transactionID)")
            transaction.originalTransactionID = period.originalTransactionID
            transaction.purchaseDate = Samples.time(period.start)
            transaction.expiresDate = period.end.map { Samples.time($0) }
            transaction.cancellationDate = period.isCancelled ? Samples.time(period.start + 1) : nil
            return transaction
        }
        var renewal = Renewal(originalTransactionID: "0")
        if isOne(in: 3) { renewal.gracePeriodExpiresDate = Samples.time(number(1500)) }
        renewal.isInBillingRetry = isOne(in: 3)
        return UpstreamAnswer(
            environment: .sandbox, bundleID: Samples.app, transactions: transactions, renewals: [renewal],
            latestReceipt: nil, body: [])
    }
}
