// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway

struct SubscriptionTests {
    /// What a subscription should look like: name, state, deciding transaction, eligibility for an introductory offer.
    struct Expected: Equatable, Sendable {
        let originalTransactionID: String
        let state: SubscriptionState
        let transactionID: String
        let isEligible: Bool

        init(
            _ originalTransactionID: String, _ state: SubscriptionState, _ transactionID: String,
            _ isEligible: Bool = true
        ) {
            self.originalTransactionID = originalTransactionID
            self.state = state
            self.transactionID = transactionID
            self.isEligible = isEligible
        }
    }

    struct Story: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let periods: [Period]
        /// What is expected at each moment, in seconds.
        let chapters: [(Int64, [Expected])]

        init(_ name: String, _ periods: [Period], _ chapters: [(Int64, [Expected])]) {
            testDescription = name
            self.periods = periods
            self.chapters = chapters
        }
    }

    static let stories = [
        Story("nothing bought", [], [(0, [])]),
        Story("no subscription", [Period(item: "1", at: 0), Period(item: "2", at: 5).trial], [(0, []), (10, [])]),
        Story(
            "one period", [Period("1", 0..<100)],
            [
                (-1, [.init("1", .expired, "1")]), (0, [.init("1", .active, "1")]), (99, [.init("1", .active, "1")]),
                (100, [.init("1", .expired, "1")]), (1_000_000, [.init("1", .expired, "1")]),
            ]),
        Story(
            "renewals", [Period("1", 0..<100), Period("2", 100..<200), Period("3", 200..<300)],
            [
                (99, [.init("1", .active, "1")]), (100, [.init("1", .active, "2")]), (199, [.init("1", .active, "2")]),
                (250, [.init("1", .active, "3")]), (300, [.init("1", .expired, "3")]),
            ]),
        Story(
            "a pause", [Period("1", 0..<100), Period("2", 150..<250)],
            [
                // The period that decides while none is under way is the one that ends last.
                (99, [.init("1", .active, "1")]), (100, [.init("1", .expired, "2")]),
                (149, [.init("1", .expired, "2")]), (150, [.init("1", .active, "2")]),
            ]),
        Story(
            "a refund", [Period("1", 0..<100), Period("2", 100..<200).cancelled],
            [
                (50, [.init("1", .active, "1")]), (100, [.init("1", .revoked, "2")]),
                (199, [.init("1", .revoked, "2")]),
                (300, [.init("1", .revoked, "2")]),
            ]),
        Story(
            "a refund, then bought again", [Period("1", 0..<100).cancelled, Period("2", 20..<120)],
            [(10, [.init("1", .expired, "2")]), (20, [.init("1", .active, "2")]), (120, [.init("1", .expired, "2")])]),
        Story(
            "a refund of an early period alone", [Period("1", 0..<100).cancelled, Period("2", 100..<200)],
            [(150, [.init("1", .active, "2")]), (200, [.init("1", .expired, "2")])]),
        Story(
            "an upgrade, which cancels the smaller one",
            [Period("1", 0..<100).cancelled, Period("2", 30..<400).with(\.product, "yearly")],
            [(30, [.init("1", .active, "2")]), (399, [.init("1", .active, "2")]), (400, [.init("1", .expired, "2")])]),
        Story(
            "an upgrade whose refund leaves the smaller one", [Period("1", 0..<100), Period("2", 30..<400).cancelled],
            [(50, [.init("1", .active, "1")]), (100, [.init("1", .revoked, "2")])]),
        Story(
            "two periods that overlap", [Period("1", 0..<100), Period("2", 50..<80)],
            [(60, [.init("1", .active, "1")]), (90, [.init("1", .active, "1")]), (100, [.init("1", .expired, "1")])]),
        Story(
            "two periods that end together", [Period("1", 0..<100).cancelled, Period("2", 50..<100)],
            [(60, [.init("1", .active, "2")]), (100, [.init("1", .expired, "2")])]),
        Story(
            "two periods that end together, the later one refunded",
            [Period("1", 0..<100), Period("2", 50..<100).cancelled],
            [(60, [.init("1", .active, "1")]), (100, [.init("1", .revoked, "2")])]),
        Story(
            "two equal periods, one refunded", [Period("1", 0..<100), Period("2", 0..<100).cancelled],
            [(60, [.init("1", .active, "1")]), (100, [.init("1", .revoked, "2")])]),
        Story(
            "several subscriptions, the one that ends last first",
            [Period("1", 0..<100), Period("2", 0..<300, of: "2"), Period("3", 0..<200, of: "3").cancelled],
            [
                (50, [.init("2", .active, "2"), .init("3", .revoked, "3"), .init("1", .active, "1")]),
                (500, [.init("2", .expired, "2"), .init("3", .revoked, "3"), .init("1", .expired, "1")]),
            ]),
        Story(
            "no original transaction ID, as in Xcode",
            [Period("7", 0..<100, of: ""), Period("8", 0..<50, of: "")],
            [
                (10, [.init("7", .active, "7"), .init("8", .active, "8")]),
                (60, [.init("7", .active, "7"), .init("8", .expired, "8")]),
            ]),
        Story(
            "the first transaction without a name for its chain",
            [Period("1", 0..<100, of: ""), Period("2", 100..<200)],
            [(50, [.init("1", .active, "1")]), (150, [.init("1", .active, "2")])]),
        Story(
            "a trial uses up the introductory offer", [Period("1", 0..<10).trial, Period("2", 10..<100)],
            [(5, [.init("1", .active, "1", false)]), (50, [.init("1", .active, "2", false)])]),
        Story(
            "so does an introductory price", [Period("1", 0..<10).introductory, Period("2", 10..<100)],
            [(500, [.init("1", .expired, "2", false)])]),
        Story(
            "a refunded trial was one", [Period("1", 0..<10).trial.cancelled],
            [(5, [.init("1", .revoked, "1", false)])]),
        Story(
            "a trial of one subscription leaves another eligible",
            [Period("1", 0..<10).trial, Period("2", 0..<20, of: "2")],
            [(5, [.init("2", .active, "2"), .init("1", .active, "1", false)])]),
        Story(
            "receipts that do not say", [Period("1", 0..<10).with(\.isTrial, nil).with(\.isIntroductory, nil)],
            [(5, [.init("1", .active, "1")])]),
    ]

    @Test(arguments: stories) func `a subscription is what its transactions and the moment make of it`(
        _ story: Story
    ) throws {
        let purchases = Array(try Samples.verified(Samples.receipt(with: story.periods)).purchases)
        for (seconds, expected) in story.chapters {
            #expect(Self.subscriptions(purchases, at: seconds) == expected, "at \(seconds)")
        }
    }

    @Test(arguments: stories) func `the order of transactions means nothing`(_ story: Story) throws {
        let purchases = Array(try Samples.verified(Samples.receipt(with: story.periods)).purchases)
        for (seconds, expected) in story.chapters {
            for order in Self.permutations(of: purchases) {
                #expect(Self.subscriptions(order, at: seconds) == expected, "at \(seconds)")
            }
        }
    }

    @Test func `a period ends with the millisecond it ends at`() throws {
        let purchases = try Samples.verified(Samples.receipt(with: [Period("1", 0..<100)])).purchases
        func state(_ milliseconds: Int64) -> SubscriptionState? {
            Subscription.all(in: purchases, at: Samples.created.advanced(by: .milliseconds(milliseconds))).first?.state
        }
        #expect(state(-1) == .expired && state(0) == .active && state(99_999) == .active && state(100_000) == .expired)
    }

    // MARK: Old transactions

    @Test func `without old transactions the latest of each subscription and every item remain`() throws {
        let periods = [
            Period("1", 0..<100), Period("3", 200..<300), Period("2", 100..<200), Period(item: "9", at: 0),
            Period("5", 0..<50, of: "4"), Period("4", 0..<20, of: "4"), Period(item: "8", at: 7),
        ]
        let purchases = Array(try Samples.verified(Samples.receipt(with: periods)).purchases)
        for order in [purchases, purchases.reversed()] {
            let kept = order.withoutOldTransactions().map(\.transactionID)
            let ordered = order.map(\.transactionID).filter { ["3", "5", "8", "9"].contains($0) }
            #expect(kept == ordered)
        }
    }

    // MARK: Boundaries

    @Test(
        arguments: [
            ([], -10, nil), ([Period("1", 0..<100)], -10, 0), ([Period("1", 0..<100)], 0, 100),
            ([Period("1", 0..<100)], 99, 100), ([Period("1", 0..<100)], 100, nil),
            ([Period("1", 0..<100), Period("2", 50..<70, of: "2")], 10, 50),
            ([Period("1", 0..<100), Period("2", 50..<70, of: "2")], 60, 70),
            ([Period("1", 0..<100), Period("2", 50..<70, of: "2")], 70, 100),
            ([Period(item: "1", at: 50)], 0, nil),
        ] as [([Period], Int64, Int64?)])
    func `the next boundary is the next beginning or end of a period`(
        periods: [Period], seconds: Int64, boundary: Int64?
    ) throws {
        let receipt = try Samples.verified(Samples.receipt(with: periods))
        #expect(receipt.nextBoundary(after: Samples.time(seconds)) == boundary.map(Samples.time))
    }

    @Test func `the end of a volume licence is a boundary`() throws {
        let receipt = try Samples.verified(
            Samples.receipt(with: [Period("1", 0..<100)]) {
                $0.expirationDate = $0.creationDate.advanced(bySeconds: 40)
            })
        #expect(receipt.nextBoundary(after: Samples.time(39)) == Samples.time(40))
        #expect(receipt.nextBoundary(after: Samples.time(40)) == Samples.time(100))
    }

    @Test(arguments: stories) func `nothing changes between boundaries`(_ story: Story) throws {
        let receipt = try Samples.verified(Samples.receipt(with: story.periods))
        var now = Samples.time(-1000)
        while let boundary = receipt.nextBoundary(after: now) {
            let justBefore = boundary.advanced(by: .milliseconds(-1))
            #expect(Self.summary(receipt.purchases, at: now) == Self.summary(receipt.purchases, at: justBefore))
            now = boundary
        }
        #expect(Self.summary(receipt.purchases, at: now) == Self.summary(receipt.purchases, at: Samples.time(1 << 32)))
    }

    private static func subscriptions(_ purchases: [InAppPurchase], at seconds: Int64) -> [Expected] {
        summary(purchases, at: Samples.time(seconds))
    }

    private static func summary(_ purchases: some Sequence<InAppPurchase>, at now: Timestamp) -> [Expected] {
        Subscription.all(in: purchases, at: now).map {
            .init($0.originalTransactionID, $0.state, $0.transaction.transactionID, $0.isEligibleForIntroOffer)
        }
    }

    private static func permutations(of purchases: [InAppPurchase]) -> [[InAppPurchase]] {
        guard purchases.count > 1 else { return [purchases] }
        return purchases.indices.flatMap { index in
            var rest = purchases
            let first = rest.remove(at: index)
            return permutations(of: rest).map { [first] + $0 }
        }
    }
}
