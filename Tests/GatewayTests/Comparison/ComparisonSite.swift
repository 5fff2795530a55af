// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Resilience
import Testing
import TestSupport

@testable import Gateway

/// A gateway that compares all of its answers about a receipt, with a scripted `verifyReceipt` and a scripted App Store
/// Server API. Its clock stands still, unless a test sets it.
struct ComparisonSite {
    let upstream: ScriptedUpstream
    let customers: ScriptedCustomers
    let guards = UpstreamGuards()
    let store = EmbeddedComparisonStore()
    let events = RecordedValues<ComparisonEvent>()
    let comparisons: AnswerComparisons
    let receipt: [UInt8]
    let clock: TestClock
    private let service: VerificationService

    /// - Parameters:
    ///   - time: the time of requests, in seconds after the receipt was made.
    ///   - verifyReceipt: the replies of the sandbox.
    ///   - answers: the interface that answers clients about receipts.
    ///   - gate: requests to `verifyReceipt` wait here.
    init(
        _ mode: ComparisonMode, _ receipt: [UInt8], at time: Int64 = 3600, verifyReceipt: [UpstreamReply] = [],
        serverAPI: UpstreamResult? = nil, answers: ReceiptUpstream = .verifyReceipt, share: Double = 1,
        requestsPerSecond: Int = 1000, gate: Gate? = nil
    ) {
        let clock = TestClock(Samples.time(time)), start = Instant.now, limiter = EmbeddedRateLimiter { start }
        upstream = ScriptedUpstream([.production: [.otherEnvironment], .sandbox: verifyReceipt], gate: gate)
        customers = ScriptedCustomers(serverAPI.map { ["1": [$0]] } ?? [:], apps: [Samples.app])
        let verification = UpstreamVerification(
            UpstreamConnection(
                upstream, customers: customers, receiptUpstream: { _ in answers }, guards: guards,
                lifecycle: UpstreamLifecycle(configured: LifecycleDates()), timeouts: .unhurried),
            fleet: .embedded(), policy: CachePolicy { 0 }, observe: { _ in }, clock: { clock.time })
        var rules = ComparisonRules()
        (rules.mode, rules.share, rules.requestsPerSecond) = (mode, share, requestsPerSecond)
        comparisons = AnswerComparisons(
            rules, verification, store: store, limiter: limiter, observe: events.add, clock: { clock.time },
            random: { 0.5 })
        service = VerificationService(
            verifier: CurrentVerifier(Samples.verifier), apple: verification, comparisons: comparisons)
        (self.receipt, self.clock) = (receipt, clock)
    }

    var now: Timestamp { clock.time }

    @discardableResult
    func ask(_ mode: Mode = .local, _ edit: (inout VerificationOptions) -> Void = { _ in }) async throws -> Answer {
        let request = VerificationRequest(evidence: .appReceipt(receipt), mode: mode).with(edit)
        return try await service.verify(request, at: now)
    }

    /// Compares queued answers until there are so many events.
    func compare(events count: Int = 1) async throws {
        try await compare { count <= events.all.count }
    }

    private func compare(until isDone: () -> Bool) async throws {
        let running = Task { await comparisons.run() }
        try await eventually { isDone() }
        running.cancel()
        await running.value
    }

    /// Asks once, and returns the kinds of difference that the comparison found; nil if nothing was compared.
    func kinds(_ mode: Mode = .local, _ pair: ComparisonPair = .localAndApple) async throws -> [String]? {
        try await ask(mode)
        // The store has the result after the event.
        try await compare { store.tallies(at: now)[pair] != nil }
        let tally = store.tallies(at: now)[pair]
        guard let tally, tally.compared == 1 else { return nil }
        return tally.kinds.keys.map(\.text).sorted()
    }
}

extension UpstreamAnswer {
    /// Returns Apple's answer with these periods. Like `verifyReceipt`, it names no types of products.
    static func sandbox(
        _ periods: [Period], renewals: [Renewal] = [], _ edit: (inout [Transaction]) -> Void = { _ in }
    ) throws -> UpstreamAnswer {
        var transactions = try Samples.transactions(periods)
        for index in transactions.indices { transactions[index].productType = nil }
        edit(&transactions)
        return UpstreamAnswer(
            environment: .sandbox, bundleID: Samples.app, transactions: transactions, renewals: renewals,
            latestReceipt: nil, body: Array(#"{"status":0}"#.utf8))
    }
}

extension ComparisonEvent {
    /// The event as text.
    var line: String {
        switch self {
        case .compared(let pair, let fields):
            "\(pair.rawValue) compared \(fields.map(\.rawValue).sorted().joined(separator: " "))"
        case .skipped(let pair, let obstacle): "\(pair.rawValue) \(obstacle.rawValue)"
        case .unstored(let pair): "\(pair.rawValue) unstored"
        }
    }
}
