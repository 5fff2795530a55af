// SPDX-License-Identifier: Apache-2.0

import Customers
@testable import Gateway
import ReceiptForge
import Receipts
import Testing
import TestSupport

/// Properties of the timeline, checked with random subscriptions of which any part may be known.
struct SubscriptionHistoryTests {
    private static let subscriptions = 400
    private static let granting: Set<SubscriptionState> = [.active, .inGracePeriod]

    /// The moments at which something changes, and random ones.
    private static func moments(of subscription: inout RandomSubscription) -> [Timestamp] {
        let edges = subscription.facts.map(\.signed) + subscription.periods.flatMap { [$0.begin, $0.expiry] }
        let length = Int(RandomSubscription.start.duration(to: subscription.end) / .seconds(60))
        let random = (0..<20).map { _ in RandomSubscription.start.after(subscription.number(-3000...length + 100_000)) }
        return edges + edges.map { $0.after(-1) } + edges.map { $0.after(61) } + random
    }

    @Test func `no state grants more than a known fact does, whatever is known, and access ends with the grant`() {
        var counts: [SubscriptionState: Int] = [:]
        for seed in 0..<UInt64(Self.subscriptions) {
            var subscription = RandomSubscription(seed: TestSeed.number(seed))
            for now in Self.moments(of: &subscription) {
                // Apple signs nothing ahead. Of the rest any part may have come, in any order.
                let part = subscription.number(0...100)
                var known: [RandomSubscription.Fact] = []
                for fact in subscription.facts where fact.signed <= now {
                    if subscription.number(0...100) <= part {
                        known.insert(fact, at: subscription.number(0...known.count))
                    }
                }
                let facts = KnownFacts(known)
                guard let answer = facts.subscription(at: now) else { continue }
                counts[answer.state, default: 0] += 1
                let grants = Self.granting.contains(answer.state)
                #expect(!grants || facts.mayGrant(at: now), "seed \(seed), \(now): \(answer.state)")
                // Rule 6 of docs/states.md.
                let isAhead = answer.accessUntil.map { now < $0 } ?? false
                #expect(grants == isAhead, "seed \(seed), \(now): \(answer.state) until \(answer.accessUntil as Any)")
            }
        }
        // Every state is reached many times.
        #expect(!TestSeed.isOfCI || SubscriptionState.allCases.allSatisfy { counts[$0, default: 0] > 30 }, "\(counts)")
    }

    @Test func `a customer is served while a known period is paid for, with any other facts`() {
        var count = 0
        for seed in 0..<UInt64(Self.subscriptions) {
            var subscription = RandomSubscription(seed: TestSeed.number(seed))
            for now in Self.moments(of: &subscription) {
                guard let period = subscription.periods.first(where: { $0.paid.contains { $0.contains(now) } }) else {
                    continue
                }
                let past = subscription.facts.filter { $0.signed <= now }
                let needed = past.last { $0.transaction?.transactionID == period.id }
                let others = past.filter { _ in subscription.number(0...1) == 0 }.shuffled(
                    using: &subscription.generator)
                guard let needed else { continue }
                let answer = KnownFacts(others + [needed]).subscription(at: now)
                #expect(
                    answer.map { Self.granting.contains($0.state) } == true,
                    "seed \(seed), \(now): \(answer?.state as Any)")
                count += 1
            }
        }
        #expect(!TestSeed.isOfCI || count > 5000, "\(count)")
    }

    /// An event names the state that an answer has at the same time.
    @Test func `events and answers say the same`() {
        let named: [EventType: SubscriptionState] = [
            .subscriptionExpired: .expired, .subscriptionEnteredGracePeriod: .inGracePeriod,
            .subscriptionEnteredBillingRetry: .inBillingRetry, .subscriptionRefunded: .revoked,
            .subscriptionStarted: .active, .subscriptionRenewed: .active, .subscriptionRecovered: .active,
            .subscriptionPlanChanged: .active, .subscriptionRefundReversed: .active,
        ]
        var counts: [EventType: Int] = [:]
        let chain = PurchaseChain(bundleID: "a", environment: .production, originalTransactionID: "1")
        for seed in 0..<UInt64(Self.subscriptions) {
            var chronicle = Chronicle()
            func check(_ events: [Event], at now: Timestamp) {
                guard let state = chronicle.states[chain] else { return }
                let known = Entitlements(
                    in: TransactionList(state.transactions), renewals: state.renewals, at: now,
                    rules: SubscriptionRules()
                ).subscriptions
                for event in events {
                    guard let expected = named[event.type] else { continue }
                    #expect(known.map(\.state) == [expected], "seed \(seed), \(now): \(event.type)")
                    counts[event.type, default: 0] += 1
                }
            }
            for fact in RandomSubscription(seed: TestSeed.number(seed)).facts {
                let before = fact.signed.after(-1)
                check(chronicle.pass(to: before, of: chain), at: before)
                let new = chronicle.verify(
                    [fact.transaction].compactMap(\.self), fact.plan, of: chain, at: fact.signed)
                check(new, at: fact.signed)
            }
        }
        #expect(!TestSeed.isOfCI || named.keys.allSatisfy { counts[$0, default: 0] > 10 }, "\(counts)")
    }
}
