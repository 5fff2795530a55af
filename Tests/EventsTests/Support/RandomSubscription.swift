// SPDX-License-Identifier: Apache-2.0

@testable import Gateway
import ReceiptForge
import Receipts

/// A random subscription as it truly went, and the facts that Apple signed about it. Time is in minutes.
struct RandomSubscription {
    struct Period {
        let id: String
        let product: String
        let begin: Timestamp
        let expiry: Timestamp
        /// The spans in which the customer was entitled to it by its payment: a refund may be reversed.
        var paid: [Range<Timestamp>] = []
    }

    /// A transaction or a plan, as Apple signed it.
    struct Fact {
        let signed: Timestamp
        var transaction: Transaction?
        var plan: Renewal?
    }

    private(set) var periods: [Period] = []
    /// In the order in which they were signed.
    private(set) var facts: [Fact] = []
    var generator: SplitMix64

    static let month = 30 * 1440, start = Timestamp(millisecondsSince1970: 1_700_000_000_000)

    init(seed: UInt64) {
        generator = SplitMix64(seed: seed, purpose: "a subscription")
        var begin = Self.start, product = "basic"
        for _ in 0..<number(2...6) {
            begin = next(from: begin, of: &product)
        }
        facts.sort { $0.signed < $1.signed }
    }

    /// The time of the last fact.
    var end: Timestamp { facts.map(\.signed).max() ?? Self.start }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
}

// MARK: - Periods

extension RandomSubscription {
    /// Adds a period and its end.
    /// - Returns: the begin of the next one.
    private mutating func next(from begin: Timestamp, of product: inout String) -> Timestamp {
        let expiry = begin.after(Self.month)
        let index = periods.count
        periods.append(Period(id: "\(index + 1)", product: product, begin: begin, expiry: expiry))
        // Apple renews up to a day ahead.
        let signed =
            index > 0 && facts.last.map({ $0.signed < begin.after(-1440) }) ?? false
            ? begin.after(-number(0...1440)) : begin
        sign(index, at: signed) { plan in plan.willRenew = true }
        switch number(0...6) {
        case 0: return refund(index)
        case 1: return fail(index)
        case 2: return cancel(index)
        case 3: return upgrade(index, &product)
        case 4:
            // The renewal is late.
            let isNamed = number(0...1) == 0
            plan(at: expiry.after(1)) { plan in
                plan.willRenew = true
                if isNamed { plan.status = ReportedStatus(.active, at: expiry.after(1)) }
            }
            return paid(index, until: expiry).after(number(2...50))
        case 5:
            product = product == "basic" ? "cheap" : "basic"
            return paid(index, until: expiry)
        default: return paid(index, until: expiry)
        }
    }

    private mutating func paid(_ index: Int, until end: Timestamp) -> Timestamp {
        periods[index].paid.append(periods[index].begin..<end)
        return end
    }

    private mutating func refund(_ index: Int) -> Timestamp {
        let period = periods[index], date = period.begin.after(number(1...Self.month - 3000))
        _ = paid(index, until: date)
        sign(index, at: date, cancelled: date) { plan in
            (plan.willRenew, plan.status) = (false, ReportedStatus(.revoked, at: date))
        }
        guard number(0...1) == 0 else { return date.after(number(1...5000)) }
        // The refund is reversed.
        let reversal = date.after(number(1...1000))
        sign(index, at: reversal) { plan in
            (plan.willRenew, plan.status) = (true, ReportedStatus(.active, at: reversal))
        }
        periods[index].paid.append(reversal..<period.expiry)
        return period.expiry
    }

    private mutating func fail(_ index: Int) -> Timestamp {
        let expiry = paid(index, until: periods[index].expiry), hasGrace = number(0...1) == 0
        let graceEnd = expiry.after(16 * 1440)
        // Apple does not always sign the end of a grace period.
        let hasGraceEnd = hasGrace && number(0...1) == 0
        for date in [expiry.after(1), expiry.after(number(2...2000))] {
            plan(at: date) { plan in
                (plan.willRenew, plan.isInBillingRetry) = (true, true)
                if hasGraceEnd { plan.gracePeriodExpiresDate = graceEnd }
                plan.status = ReportedStatus(hasGrace ? .inGracePeriod : .inBillingRetry, at: date)
            }
        }
        if number(0...1) == 0 { return expiry.after(number(2...15 * 1440)) }
        let lapse = expiry.after(60 * 1440)
        plan(at: lapse) { plan in
            (plan.willRenew, plan.expirationIntent) = (false, .billingError)
            plan.status = ReportedStatus(.expired, at: lapse)
        }
        return lapse.after(number(1...5000))
    }

    private mutating func cancel(_ index: Int) -> Timestamp {
        let period = periods[index]
        plan(at: period.begin.after(number(1...20_000))) { plan in plan.willRenew = false }
        plan(at: period.expiry.after(2)) { plan in
            (plan.willRenew, plan.expirationIntent) = (false, .customerCancelled)
            plan.status = ReportedStatus(.expired, at: period.expiry.after(2))
        }
        return paid(index, until: period.expiry).after(number(10...50_000))
    }

    private mutating func upgrade(_ index: Int, _ product: inout String) -> Timestamp {
        let date = periods[index].begin.after(number(1...40_000))
        sign(index, at: date, isUpgraded: true) { plan in plan.willRenew = true }
        product += "+"
        return paid(index, until: date)
    }
}

// MARK: - Facts

extension RandomSubscription {
    private mutating func sign(
        _ index: Int, at date: Timestamp, cancelled: Timestamp? = nil, isUpgraded: Bool = false,
        plan change: (inout Renewal) -> Void
    ) {
        let period = periods[index]
        var transaction = Transaction(productID: period.product, transactionID: period.id)
        var fields = SignedTransactionFields()
        (transaction.originalTransactionID, transaction.productType) = ("1", .autoRenewableSubscription)
        (transaction.purchaseDate, transaction.expiresDate) = (period.begin, period.expiry)
        (transaction.cancellationDate, transaction.isUpgraded) = (cancelled, isUpgraded)
        transaction.ownership = .purchased
        (transaction.webOrderLineItemID, fields.signedDate) = ("9" + period.id, date)
        transaction.signedFields = .value(fields)
        facts.append(Fact(signed: date, transaction: transaction))
        self.plan(at: date, change)
    }

    private mutating func plan(at date: Timestamp, _ change: (inout Renewal) -> Void) {
        facts.append(Fact(signed: date, plan: renewal(at: date, change)))
    }

    private func renewal(at date: Timestamp, _ change: (inout Renewal) -> Void) -> Renewal {
        var renewal = Renewal(originalTransactionID: "1"), fields = SignedRenewalFields()
        fields.signedDate = date
        renewal.signedFields = .value(fields)
        change(&renewal)
        return renewal
    }
}

extension Timestamp {
    func after(_ minutes: Int) -> Timestamp { advanced(by: .seconds(60 * minutes)) }
}

// MARK: - What is known

/// Some facts about a subscription, each transaction and the plan in its newest state.
struct KnownFacts {
    private(set) var transactions: [Transaction] = []
    private(set) var plans: [Renewal] = []

    init(_ facts: some Sequence<RandomSubscription.Fact>) {
        for fact in facts {
            if let transaction = fact.transaction {
                transactions.removeAll {
                    $0.transactionID == transaction.transactionID && !$0.isSignedLater(than: transaction)
                }
                if !transactions.contains(where: { $0.transactionID == transaction.transactionID }) {
                    transactions.append(transaction)
                }
            }
            if let plan = fact.plan { plans.append(plan) }
        }
        plans = plans.max { ($0.signedDate ?? .earliest) < ($1.signedDate ?? .earliest) }.map { [$0] } ?? []
    }

    /// The subscription in the answer at a moment; nil if no transaction is known.
    func subscription(at now: Timestamp) -> Subscription? {
        Entitlements(in: TransactionList(transactions), renewals: plans, at: now, rules: SubscriptionRules())
            .subscriptions.first
    }

    /// Returns true if a known fact grants access at a moment: a paid period, which may begin in 48 hours; the grace period
    /// or the late renewal after it; or a status of the last hour.
    func mayGrant(at now: Timestamp) -> Bool {
        transactions.contains { transaction in
            guard transaction.cancellationDate == nil, let begin = transaction.purchaseDate,
                let expiry = transaction.expiresDate, begin.after(-48 * 60) <= now
            else { return false }
            return now < expiry || plans.contains { $0.grants(at: now, after: expiry) }
        }
    }
}

extension Renewal {
    fileprivate func grants(at now: Timestamp, after expiry: Timestamp) -> Bool {
        if let end = gracePeriodExpiresDate, now < end { return true }
        if let signedDate, willRenew == true, expiry <= signedDate, now < expiry.after(60) { return true }
        guard let status, [.active, .inGracePeriod].contains(status.state), expiry < status.date else { return false }
        return now < status.date.after(60)
    }
}
