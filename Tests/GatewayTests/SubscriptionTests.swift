// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway

struct SubscriptionTests {
    /// A subscription's expected values: name, state, deciding transaction, eligibility for an introductory offer.
    struct Expected: Equatable, Sendable {
        let originalTransactionID: String
        let state: SubscriptionState
        let transactionID: String
        let isEligible: Bool?

        init(
            _ originalTransactionID: String, _ state: SubscriptionState, _ transactionID: String,
            _ isEligible: Bool? = nil
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
        /// The expectation at each time, in seconds.
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
                (-200_000, [.init("1", .expired, "1")]), (-1, [.init("1", .active, "1")]),
                (99, [.init("1", .active, "1")]),
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
                // Without a current period, a paid one that begins soon decides.
                (99, [.init("1", .active, "1")]), (100, [.init("1", .active, "2")]),
                (149, [.init("1", .active, "2")]), (250, [.init("1", .expired, "2")]),
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
            [(10, [.init("1", .active, "2")]), (20, [.init("1", .active, "2")]), (120, [.init("1", .expired, "2")])]),
        Story(
            "a refund of an early period alone", [Period("1", 0..<100).cancelled, Period("2", 100..<200)],
            [(150, [.init("1", .active, "2")]), (200, [.init("1", .expired, "2")])]),
        Story(
            "an upgrade, which cancels the smaller one",
            [Period("1", 0..<100).cancelled, Period("2", 30..<400).with(\.product, "yearly")],
            [(30, [.init("1", .active, "2")]), (399, [.init("1", .active, "2")]), (400, [.init("1", .expired, "2")])]),
        Story(
            "an upgrade whose refund leaves the smaller one", [Period("1", 0..<100), Period("2", 30..<400).cancelled],
            [(50, [.init("1", .active, "1")]), (100, [.init("1", .expired, "1")])]),
        Story(
            "two periods that overlap", [Period("1", 0..<100), Period("2", 50..<80)],
            [(60, [.init("1", .active, "1")]), (90, [.init("1", .active, "1")]), (100, [.init("1", .expired, "1")])]),
        Story(
            "two periods that end together", [Period("1", 0..<100).cancelled, Period("2", 50..<100)],
            [(60, [.init("1", .active, "2")]), (100, [.init("1", .expired, "2")])]),
        Story(
            "two periods that end together, the later one refunded",
            [Period("1", 0..<100), Period("2", 50..<100).cancelled],
            [(60, [.init("1", .active, "1")]), (100, [.init("1", .expired, "1")])]),
        Story(
            "two equal periods, one refunded", [Period("1", 0..<100), Period("2", 0..<100).cancelled],
            [(60, [.init("1", .active, "1")]), (100, [.init("1", .expired, "1")])]),
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
            "receipts without the flags", [Period("1", 0..<10).with(\.isTrial, nil).with(\.isIntroductory, nil)],
            [(5, [.init("1", .active, "1")])]),
    ]

    @Test(arguments: stories) func `a subscription's state follows from its transactions, in any order, and the time`(
        _ story: Story
    ) throws {
        let purchases = try Samples.transactions(story.periods)
        for (seconds, expected) in story.chapters {
            for order in Self.permutations(of: purchases) {
                #expect(Self.subscriptions(order, at: seconds) == expected, "at \(seconds)")
            }
        }
    }

    @Test func `a period ends with the millisecond it ends at`() throws {
        let purchases = try Samples.transactions([Period("1", 0..<100)])
        func state(_ milliseconds: Int64) -> SubscriptionState? {
            Entitlements(
                in: TransactionList(purchases), at: Samples.created.advanced(by: .milliseconds(milliseconds)),
                rules: SubscriptionRules()
            ).subscriptions.first?.state
        }
        #expect(state(0) == .active && state(99_999) == .active && state(100_000) == .expired)
    }

    @Test func `a paid period counts two days before it begins`() throws {
        let purchases = try Samples.transactions([Period("1", 0..<100)])
        func state(_ seconds: Int64) -> SubscriptionState? {
            Entitlements(in: TransactionList(purchases), at: Samples.time(seconds), rules: SubscriptionRules())
                .subscriptions.first?
                .state
        }
        let lead: Int64 = 48 * 3600
        #expect(state(-lead - 1) == .expired && state(-lead) == .active && state(99) == .active)
        #expect(state(100) == .expired)
    }

    // MARK: Apple's plans

    /// Apple's plan for a subscription that ended at 100, and its state at 150.
    struct Plan: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let state: SubscriptionState
        var graceEnd: Int64?
        var isRetried: Bool?
        var isCancelled = false
        var isUpgraded = false
    }

    static let plans = [
        Plan(testDescription: "nothing", state: .expired),
        Plan(testDescription: "grace", state: .inGracePeriod, graceEnd: 151),
        Plan(testDescription: "grace that is over", state: .expired, graceEnd: 150),
        Plan(testDescription: "billing retry", state: .inBillingRetry, isRetried: true),
        Plan(testDescription: "grace within billing retry", state: .inGracePeriod, graceEnd: 200, isRetried: true),
        Plan(testDescription: "billing retry after grace", state: .inBillingRetry, graceEnd: 120, isRetried: true),
        Plan(testDescription: "no retry any more", state: .expired, isRetried: false),
        Plan(testDescription: "a refund counts more than a retry", state: .revoked, isRetried: true, isCancelled: true),
        Plan(testDescription: "an upgrade", state: .upgraded, isCancelled: true, isUpgraded: true),
    ]

    @Test(arguments: plans) func `Apple's plan decides after the end of a period`(plan: Plan) throws {
        var transactions = try Samples.transactions([Period("1", 0..<100)])
        transactions[0].cancellationDate = plan.isCancelled ? Samples.time(50) : nil
        transactions[0].isUpgraded = plan.isUpgraded
        var renewal = Renewal(originalTransactionID: "1")
        renewal.gracePeriodExpiresDate = plan.graceEnd.map(Samples.time)
        renewal.isInBillingRetry = plan.isRetried
        let seen = Self.subscriptions(transactions, renewal, at: 150)
        #expect(seen.map(\.state) == [plan.state] && seen.first?.renewal == renewal)
        let end = max(plan.graceEnd ?? 0, 100)
        #expect(seen.first?.accessUntil == (plan.isCancelled ? nil : Samples.time(end)))
    }

    /// The product of the next period, after `monthly`, and the change that it means.
    struct Move: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var next: String? = "yearly"
        var willRenew: Bool?
        /// The products of earlier periods that an upgrade ended.
        var upgraded: [String] = []
        var isUpgradedItself = false
        /// True if a notification called it a downgrade.
        var isDowngrade = false
        /// The product after a commitment; nil without a commitment.
        var afterCommitment: String?
        let change: SubscriptionChange?
    }

    static let moves = [
        Move(testDescription: "nothing known", next: nil, change: nil),
        Move(testDescription: "the same product", next: "monthly", change: SubscriptionChange.none),
        Move(testDescription: "another product", change: .crossgrade),
        Move(testDescription: "a downgrade", isDowngrade: true, change: .downgrade),
        Move(
            testDescription: "a withdrawn downgrade", next: "monthly", isDowngrade: true,
            change: SubscriptionChange.none),
        Move(testDescription: "another product, but it ends", willRenew: false, change: SubscriptionChange.none),
        Move(testDescription: "back to what an upgrade ended", upgraded: ["yearly"], change: .downgrade),
        Move(testDescription: "again to what was an upgrade", upgraded: ["monthly"], change: .upgrade),
        Move(testDescription: "another product after an upgrade", upgraded: ["weekly"], change: .crossgrade),
        Move(
            testDescription: "another product after the commitment", next: "monthly", afterCommitment: "yearly",
            change: .crossgrade),
        Move(testDescription: "an upgrade that was made", next: nil, isUpgradedItself: true, change: .upgrade),
    ]

    @Test(arguments: moves) func `a change is reported as far as products and upgrades show it`(move: Move) throws {
        let earlier = move.upgraded.indices.map { Period("\($0 + 1)", 0..<50).with(\.product, move.upgraded[$0]) }
        var transactions = try Samples.transactions(earlier + [Period("9", 50..<150)])
        for index in earlier.indices { transactions[index].isUpgraded = true }
        transactions[earlier.count].isUpgraded = move.isUpgradedItself
        var renewal = Renewal(originalTransactionID: "1")
        (renewal.renewalProductID, renewal.willRenew) = (move.next, move.willRenew)
        renewal.isDowngrade = move.isDowngrade
        if move.afterCommitment != nil {
            var period = SignedTransactionFields(), plan = SignedRenewalFields()
            (period.billingPlanType, plan.commitmentAutoRenewProductID) = ("MONTHLY", move.afterCommitment)
            (transactions[0].signedFields, renewal.signedFields) = (.value(period), .value(plan))
        }
        let seen = Self.subscriptions(transactions, renewal, at: 100)
        #expect(seen.map(\.change) == [move.change])
    }

    @Test(arguments: [
        ("1", nil, 10, 10, true, Transaction.Reason.purchase), ("1", "1", 10, 10, true, .purchase),
        ("2", "1", 20, 10, true, .renewal), ("2", "1", 10, 10, true, .restore), ("2", "1", 20, 10, false, .restore),
        ("1", "1", 10, 10, false, .purchase),
    ])
    func `identifiers and dates show how a transaction came about`(
        id: String, original: String?, bought: Int64, firstBought: Int64, isSubscription: Bool,
        reason: Transaction.Reason
    ) {
        var transaction = Transaction(productID: "monthly", transactionID: id)
        transaction.originalTransactionID = original
        transaction.purchaseDate = Samples.time(bought)
        transaction.originalPurchaseDate = Samples.time(firstBought)
        transaction.expiresDate = isSubscription ? Samples.time(100) : nil
        #expect(transaction.reason == reason)
    }

    @Test(arguments: [
        (true, false, Transaction.Ownership.purchased, Transaction.Revocation.refund),
        (true, false, .familyShared, .familySharingEnded), (true, false, nil, nil), (true, true, .purchased, nil),
        (false, false, .purchased, nil),
    ])
    func `the ownership of a purchase shows why it was revoked`(
        isCancelled: Bool, isUpgraded: Bool, ownership: Transaction.Ownership?, revocation: Transaction.Revocation?
    ) {
        var transaction = Transaction(productID: "monthly", transactionID: "1")
        transaction.cancellationDate = isCancelled ? Samples.time(10) : nil
        transaction.isUpgraded = isUpgraded
        transaction.ownership = ownership
        #expect(transaction.revocation == revocation)
    }

    @Test func `a period that is paid for is active with any plan`() throws {
        let transactions = try Samples.transactions([Period("1", 0..<100)])
        var renewal = Renewal(originalTransactionID: "1")
        (renewal.isInBillingRetry, renewal.gracePeriodExpiresDate) = (true, Samples.time(90))
        let seen = Self.subscriptions(transactions, renewal, at: 50)
        #expect(seen.map(\.state) == [.active])
    }

    @Test func `plans are for the subscription they name`() throws {
        let transactions = try Samples.transactions([Period("1", 0..<100)])
        var renewal = Renewal(originalTransactionID: "2")
        renewal.gracePeriodExpiresDate = Samples.time(1000)
        let seen = Self.subscriptions(transactions, renewal, at: 150)
        #expect(seen.map(\.state) == [.expired] && seen.first?.renewal == nil)
    }

    /// Plans for one subscription, and the one that counts for its latest transaction, of the product `monthly`.
    struct Choice: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let plans: [Renewal]
        /// The index of the plan that counts.
        let chosen: Int?

        /// - Parameter plans: the product and the renewal product of each.
        init(_ name: String, _ plans: [(String?, String?)], _ chosen: Int?) {
            testDescription = name
            self.chosen = chosen
            self.plans = plans.enumerated().map { index, products in
                var renewal = Renewal(originalTransactionID: "1")
                (renewal.productID, renewal.renewalProductID) = products
                // Distinguishes the plans.
                renewal.offerCodeName = "\(index)"
                return renewal
            }
        }
    }

    static let choices = [
        Choice("none", [], nil),
        Choice("the product's", [("yearly", "yearly"), ("monthly", "monthly")], 1),
        Choice("the product's, whatever it renews to", [("yearly", "monthly"), ("monthly", "yearly")], 1),
        Choice("the one that renews to it", [("weekly", "weekly"), ("yearly", "monthly")], 1),
        Choice("the product's before one without a product", [(nil, nil), ("monthly", nil)], 1),
        Choice("the one that renews to it before one without a product", [(nil, nil), ("yearly", "monthly")], 1),
        Choice("one without a product before another product's", [("yearly", "yearly"), (nil, "yearly")], 1),
        Choice("other products' alone", [("yearly", "yearly"), ("weekly", "weekly")], nil),
        Choice("the only one, without a product", [(nil, nil)], 0),
        Choice("the only one, of the product", [("monthly", "yearly")], 0),
        Choice("the only one, of the product that follows", [("yearly", "yearly")], 0),
    ]

    @Test(arguments: choices) func `of several plans for one subscription that of its latest product counts`(
        choice: Choice
    ) throws {
        let transactions = try Samples.transactions([
            Period("1", 0..<100).with(\.product, "yearly"), Period("2", 100..<200),
        ])
        let chosen = choice.chosen.map { choice.plans[$0] }
        var elsewhere = Renewal(originalTransactionID: "2")
        elsewhere.productID = "monthly"
        for plans in [choice.plans, choice.plans.reversed()] {
            for now in [150, 250] as [Int64] {
                let seen = Entitlements(
                    in: TransactionList(transactions), renewals: [elsewhere] + plans, at: Samples.time(now),
                    rules: SubscriptionRules()
                ).subscriptions
                #expect(seen.map(\.renewal) == [chosen])
            }
        }
    }

    @Test func `the grace period is that of the product bought last`() throws {
        let transactions = try Samples.transactions([
            Period("1", 0..<100).with(\.product, "yearly"), Period("2", 100..<200),
        ])
        var former = Renewal(originalTransactionID: "1"), newer = former
        (former.productID, former.isInBillingRetry) = ("yearly", false)
        (newer.productID, newer.isInBillingRetry, newer.gracePeriodExpiresDate) = ("monthly", true, Samples.time(300))
        for plans in [[former, newer], [newer, former]] {
            let seen = Entitlements(
                in: TransactionList(transactions), renewals: plans, at: Samples.time(250), rules: SubscriptionRules()
            ).subscriptions
            #expect(seen.map(\.state) == [.inGracePeriod] && seen.first?.renewal == newer)
        }
        former.gracePeriodExpiresDate = Samples.time(300)
        newer.gracePeriodExpiresDate = nil
        newer.isInBillingRetry = false
        for plans in [[former, newer], [newer, former]] {
            let seen = Entitlements(
                in: TransactionList(transactions), renewals: plans, at: Samples.time(250), rules: SubscriptionRules()
            ).subscriptions
            #expect(seen.map(\.state) == [.expired] && seen.first?.renewal == newer)
        }
    }

    @Test func `a year that was upgraded to months does not count as the latest period`() throws {
        var transactions = try Samples.transactions([
            Period("1", 0..<1000).cancelled.with(\.product, "yearly"), Period("2", 100..<200),
        ])
        // A receipt has them in the order of their encodings.
        for index in transactions.indices { transactions[index].isUpgraded = transactions[index].transactionID == "1" }
        var grace = Renewal(originalTransactionID: "1")
        (grace.productID, grace.gracePeriodExpiresDate) = ("monthly", Samples.time(300))
        for order in [transactions, transactions.reversed()] {
            func seen(_ seconds: Int64, _ renewals: [Renewal]) -> [Subscription] {
                Entitlements(
                    in: TransactionList(order), renewals: renewals, at: Samples.time(seconds),
                    rules: SubscriptionRules()
                )
                .subscriptions
            }
            #expect(seen(150, []).map(\.state) == [.active] && seen(250, []).map(\.state) == [.expired])
            #expect(seen(250, [grace]).map(\.state) == [.inGracePeriod])
            let entitlements = Entitlements(
                in: TransactionList(order), at: Samples.time(250), rules: SubscriptionRules())
            #expect(entitlements.latestTransactions.map(\.transactionID) == ["2"])
        }
    }

    @Test func `an upgraded period gives no access before its end`() throws {
        var transactions = try Samples.transactions([Period("1", 0..<100), Period("2", 0..<50, of: "2")])
        transactions[0].isUpgraded = true
        let seen = Entitlements(in: TransactionList(transactions), at: Samples.time(10), rules: SubscriptionRules())
            .subscriptions
        #expect(seen.map(\.state) == [.upgraded, .active])
    }

    @Test func `an introductory offer is used up for the whole group`() throws {
        var transactions = try Samples.transactions([
            Period("1", 0..<100).trial, Period("2", 0..<90, of: "2"), Period("3", 0..<80, of: "3"),
        ])
        for (index, group) in ["A", "A", "B"].enumerated() { transactions[index].subscriptionGroupID = group }
        let seen = Entitlements(in: TransactionList(transactions), at: Samples.time(10), rules: SubscriptionRules())
            .subscriptions
        #expect(seen.map(\.isEligibleForIntroOffer) == [false, false, true])
    }

    @Test(arguments: [(nil, false), (1, false), (2, true), (3, true), (4, true)] as [(Int64?, Bool)])
    func `a free period of another offer uses up no introductory offer`(offerType: Int64?, isEligible: Bool) throws {
        var transactions = try Samples.transactions([Period("1", 0..<100).trial])
        var fields = SignedTransactionFields()
        fields.offerType = offerType
        (transactions[0].signedFields, transactions[0].subscriptionGroupID) = (.value(fields), "A")
        let seen = Entitlements(in: TransactionList(transactions), at: Samples.time(10), rules: SubscriptionRules())
            .subscriptions
        #expect(seen.map(\.isEligibleForIntroOffer) == [isEligible])
    }

    @Test func `a free period that names another offer uses up no introductory offer`() throws {
        var transactions = try Samples.transactions([Period("1", 0..<100).trial])
        (transactions[0].promotionalOfferID, transactions[0].subscriptionGroupID) = ("spring", "A")
        let seen = Entitlements(in: TransactionList(transactions), at: Samples.time(10), rules: SubscriptionRules())
            .subscriptions
        #expect(seen.map(\.isEligibleForIntroOffer) == [true])
    }

    @Test(arguments: [
        ("a", "a", false), ("a", "b", true), (nil, "b", false), ("a", nil, false), (nil, nil, false),
    ])
    func `one customer's introductory offer is not used up by another`(user: String?, other: String?, eligible: Bool)
        throws
    {
        var transactions = try Samples.transactions([Period("1", 0..<100).trial, Period("2", 0..<90, of: "2")])
        for (index, customer) in [user, other].enumerated() {
            var fields = SignedTransactionFields()
            fields.appTransactionID = customer
            (transactions[index].signedFields, transactions[index].subscriptionGroupID) = (.value(fields), "A")
        }
        let seen = Entitlements(in: TransactionList(transactions), at: Samples.time(10), rules: SubscriptionRules())
            .subscriptions
        #expect(seen.map(\.isEligibleForIntroOffer) == [false, eligible])
    }

    @Test func `a chain has the customer of the first transaction in the list`() throws {
        var transactions = try Samples.transactions([
            Period("11", -30..<100, of: "1"), Period("10", -60..<(-30), of: "1"), Period("2", -100..<(-90), of: "2"),
        ])
        for index in transactions.indices {
            var fields = SignedTransactionFields()
            fields.appTransactionID = transactions[index].transactionID == "10" ? "other" : "same"
            (transactions[index].signedFields, transactions[index].subscriptionGroupID) = (.value(fields), "A")
            if transactions[index].chainID == "2" { transactions[index].isTrialPeriod = true }
        }
        func eligibility(_ list: [Transaction]) -> [String: Bool?] {
            let seen = Entitlements(in: TransactionList(list), at: Samples.time(0), rules: SubscriptionRules())
                .subscriptions
            return Dictionary(uniqueKeysWithValues: seen.map { ($0.originalTransactionID, $0.isEligibleForIntroOffer) })
        }
        transactions.sort { $0.transactionID < $1.transactionID }
        #expect(eligibility(transactions)["1"] == true)
        transactions.reverse()
        #expect(eligibility(transactions)["1"] == false)
    }

    @Test func `the end of a grace period is a boundary`() {
        var renewal = Renewal(originalTransactionID: "1")
        renewal.gracePeriodExpiresDate = Samples.time(10)
        let facts = EntitlementFacts(TransactionList([]), [renewal])
        #expect(facts.nextBoundary(after: Samples.time(9)) == Samples.time(10))
        #expect(facts.nextBoundary(after: Samples.time(10)) == nil)
    }

    // MARK: Old transactions

    @Test func `without old transactions the latest of each subscription and every item remain`() throws {
        let periods = [
            Period("1", 0..<100), Period("3", 200..<300), Period("2", 100..<200), Period(item: "9", at: 0),
            Period("5", 0..<50, of: "4"), Period("4", 0..<20, of: "4"), Period(item: "8", at: 7),
        ]
        let purchases = try Samples.transactions(periods)
        for order in [purchases, purchases.reversed()] {
            let kept = Entitlements(in: TransactionList(order), at: Samples.time(250), rules: SubscriptionRules())
                .latestTransactions.map(\.transactionID)
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
        let facts = EntitlementFacts(TransactionList(try Samples.transactions(periods)))
        #expect(facts.nextBoundary(after: Samples.time(seconds)) == boundary.map(Samples.time))
    }

    @Test(arguments: stories) func `nothing changes between boundaries`(_ story: Story) throws {
        let transactions = try Samples.transactions(story.periods)
        let facts = EntitlementFacts(TransactionList(transactions))
        var now = Samples.time(-1000)
        func boundary() -> Timestamp? {
            let ends = Entitlements(in: TransactionList(transactions), at: now, rules: SubscriptionRules())
                .subscriptions.map(
                    \.accessUntil)
            return (ends + [facts.nextBoundary(after: now)]).compactMap(\.self).filter { now < $0 }.min()
        }
        while let boundary = boundary() {
            let justBefore = boundary.advanced(by: .milliseconds(-1))
            #expect(Self.summary(transactions, at: now) == Self.summary(transactions, at: justBefore))
            now = boundary
        }
        #expect(Self.summary(transactions, at: now) == Self.summary(transactions, at: Samples.time(1 << 32)))
    }

    private static func subscriptions(_ purchases: [Transaction], at seconds: Int64) -> [Expected] {
        summary(purchases, at: Samples.time(seconds))
    }

    private static func summary(_ purchases: [Transaction], at now: Timestamp) -> [Expected] {
        Entitlements(in: TransactionList(purchases), at: now, rules: SubscriptionRules()).subscriptions.map {
            .init($0.originalTransactionID, $0.state, $0.transaction.transactionID, $0.isEligibleForIntroOffer)
        }
    }

    private static func subscriptions(
        _ transactions: [Transaction], _ plan: Renewal, at seconds: Int64
    ) -> [Subscription] {
        Entitlements(
            in: TransactionList(transactions), renewals: [plan], at: Samples.time(seconds), rules: SubscriptionRules()
        ).subscriptions
    }

    private static func permutations(of purchases: [Transaction]) -> [[Transaction]] {
        guard purchases.count > 1 else { return [purchases] }
        return purchases.indices.flatMap { index in
            var rest = purchases
            let first = rest.remove(at: index)
            return permutations(of: rest).map { [first] + $0 }
        }
    }
}
