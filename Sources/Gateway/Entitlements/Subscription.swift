// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The entitlement of a subscription at one moment. The raw values appear in the API.
package enum SubscriptionState: String, CaseIterable, Hashable, Sendable {
    case active
    /// The payment of the next period failed, and Apple asks developers to keep up access meanwhile.
    case inGracePeriod = "in_grace_period"
    /// The payment of the next period failed; Apple still tries to collect it.
    case inBillingRetry = "in_billing_retry"
    case expired
    /// Apple refunded or revoked the last period.
    case revoked
    /// The customer changed to another subscription of the same group.
    case upgraded
}

/// A subscription's change of product. The raw values appear in the API.
package enum SubscriptionChange: String, CaseIterable, Hashable, Sendable {
    case upgrade
    /// To a lower product of the group, with the next period.
    case downgrade
    /// To another product, not known to be higher or lower.
    case crossgrade
    /// None: the next period has the same product, or there will be none.
    case none
}

/// One subscription at one moment: all transactions with the same original transaction ID.
package struct Subscription: Sendable {
    /// The facts that it was evaluated from, with all texts.
    fileprivate let facts: EntitlementFacts
    fileprivate let chain: InternedText
    package let state: SubscriptionState
    /// The time until which the customer is served: in the future if the state grants access, and only then; nil if access
    /// did not end by a date.
    package let accessUntil: Timestamp?
    let transactionIndex: Int
    fileprivate let planIndex: Int?
    /// True if no period in the subscription's group had an introductory offer, free or not (Apple, "Implementing
    /// introductory offers in your app"). Receipts do not name groups: nil if the group is unknown, and this subscription
    /// had no such period.
    package let isEligibleForIntroOffer: Bool?
    /// The change of product that was made or is planned; nil if no plan is known.
    package let change: SubscriptionChange?
    /// The whole days of paid service in the subscription's group, as far as its transactions are known.
    package let paidServiceDays: Int64
    /// The expiry date of the period that decides the state.
    let expiresDate: Timestamp?
    /// The end of that period, else its begin.
    let expiryOrder: Timestamp

    /// The subscription's present ID, which stays the same across renewals, upgrades and pauses.
    package var originalTransactionID: String { facts.texts[chain] }

    /// The transaction of the period that decides the state.
    package var transaction: Transaction { facts.list[transactionIndex] }

    /// Apple's plan for the subscription (of several, the one for the transaction's product); nil if neither Apple's answer
    /// nor a signed renewal info has one.
    package var renewal: Renewal? { planIndex.map { facts.renewals[$0] } }

    /// Returns true if the customer has access at a moment.
    package func grantsAccess(at moment: Timestamp) -> Bool { accessUntil.map { moment < $0 } ?? false }

    /// True if a paid period grants the access, and no allowance.
    var isPaid: Bool {
        guard state == .active, let accessUntil, let end = expiresDate else { return false }
        return accessUntil <= end
    }
}

/// The settings and dates beside the transactions and plans that decide the states of subscriptions.
package struct SubscriptionRules: Hashable, Sendable {
    /// The time for which a renewal may be late.
    package var lateRenewal = SubscriptionTimeline.Limits.lateRenewal
    /// The time at which transactions and plans without a time of their own were known: of the signature over a receipt, or
    /// of Apple's answer; nil if unknown.
    package var knownAt: Timestamp?
    /// The end of the app's volume licence, which ends every period.
    package var licenceEnd: Timestamp?
}

extension EntitlementFacts {
    /// Returns the subscriptions at a moment, in order of their ends, the latest first.
    func subscriptions(at now: Timestamp, _ rules: SubscriptionRules) -> [Subscription] {
        let chains = SubscriptionChains(self, rules)
        let groups = SubscriptionGroups(chains.all, at: now)
        var subscriptions = chains.all.map {
            Subscription($0, chains.names, of: self, groups, at: now, rules)
        }
        subscriptions.sort { one, other in
            one.expiryOrder == other.expiryOrder
                ? texts[other.chain] < texts[one.chain] : other.expiryOrder < one.expiryOrder
        }
        return subscriptions
    }
}

extension EntitlementFacts {
    /// Returns the times at which other periods replaced periods, by transaction ID.
    func replacementDates(_ rules: SubscriptionRules) -> [String: Timestamp] {
        var dates: [String: Timestamp] = [:]
        for chain in SubscriptionChains(self, rules).all {
            var begin: Timestamp?, nextBegin: Timestamp?
            for period in chain.timeline.periods.reversed() {
                if period.start != begin { (begin, nextBegin) = (period.start, begin) }
                switch period.replacement {
                case .at(let date, _): dates[list.transactionID(at: period.index)] = date
                // Another plan for the same product.
                case .unknown:
                    if let nextBegin, period.expiry.map({ nextBegin < $0 }) ?? false {
                        dates[list.transactionID(at: period.index)] = nextBegin
                    }
                case nil: break
                }
            }
        }
        return dates
    }

    /// Returns the transaction of each subscription that Apple's `verifyReceipt` shows as the latest, by the subscription's
    /// present ID: the paid period that ends last, which may not have begun, else the period that decides the state.
    func latestPeriods(at now: Timestamp, _ rules: SubscriptionRules) -> [String: Transaction] {
        Dictionary(
            SubscriptionChains(self, rules).all.map { chain in
                let period = chain.timeline.lastPaid(at: now) ?? chain.timeline.standing(at: now)
                return (texts[chain.name], list[period.index])
            }, uniquingKeysWith: { first, _ in first })
    }
}

extension Subscription {
    fileprivate init(
        _ chain: SubscriptionChain, _ names: InternedChainNames, of facts: EntitlementFacts,
        _ groups: SubscriptionGroups, at now: Timestamp, _ rules: SubscriptionRules
    ) {
        let standing = chain.timeline.standing(at: now), transaction = facts.transactions[standing.index]
        let plan = chain.plan(of: transaction, names, in: facts)
        let state = standing.state(
            at: now, plan.map { facts.plans[$0].plan(knownAt: rules.knownAt) }, lateRenewal: rules.lateRenewal)
        self.init(
            facts: facts, chain: chain.name, state: state.state, accessUntil: state.accessUntil,
            transactionIndex: standing.index,
            planIndex: plan, isEligibleForIntroOffer: groups.isEligibleForIntroOffer(chain),
            change: SubscriptionChange(of: transaction, plan.map { facts.plans[$0] }) { isMeant in
                chain.timeline.periods.contains { isMeant(facts.transactions[$0.index]) }
            }, paidServiceDays: groups.paidServiceDays(of: chain), expiresDate: transaction.expiresDate,
            expiryOrder: transaction.expiryOrder)
    }
}

/// The periods and plans of one subscription.
private struct SubscriptionChain {
    /// The present name.
    let name: InternedText
    /// Apple's plans for the subscription and for its copies.
    let plans: [Int]
    let timeline: SubscriptionTimeline
    /// A chain stays in one group. Receipts name no groups.
    let group: InternedText?
    /// The app transaction ID; nil if unknown.
    let customer: InternedText?
    let usedIntroOffer: Bool

    init(
        _ name: InternedText, _ indices: [Int], _ plans: [Int], of facts: EntitlementFacts, _ rules: SubscriptionRules
    ) {
        (self.name, self.plans) = (name, plans)
        /// Returns the value of the first transaction in the list that has one.
        func first<Value>(_ value: (TransactionFacts) -> Value?) -> Value? {
            indices.filter { value(facts.transactions[$0]) != nil }.min().flatMap { value(facts.transactions[$0]) }
        }
        (group, customer) = (first(\.group), first(\.customer))
        usedIntroOffer = indices.contains { facts.transactions[$0].usedIntroOffer }
        timeline = SubscriptionTimeline(facts, indices, rules: rules)
    }

    /// Returns Apple's plan for the subscription while a transaction stands: the plan about its product, a plan that renews
    /// to the product, a plan without a product. A single plan always belongs: Apple may name the next product before its
    /// transaction is listed.
    func plan(of transaction: TransactionFacts, _ names: InternedChainNames, in facts: EntitlementFacts) -> Int? {
        guard !plans.isEmpty else { return nil }
        let plans = facts.withoutOlderSigned(
            plans.filter { names.isSameChain(facts.plans[$0].chain, transaction.chain) })
        func first(_ isMeant: (PlanFacts) -> Bool) -> Int? { plans.first { isMeant(facts.plans[$0]) } }
        return first { $0.product == transaction.product } ?? first { $0.nextProduct == transaction.product }
            ?? first { $0.product == nil } ?? (plans.count == 1 ? plans[0] : nil)
    }
}

/// The chains with a subscription or a plan.
private struct SubscriptionChains {
    let names: InternedChainNames
    private(set) var all: [SubscriptionChain] = []

    init(_ facts: EntitlementFacts, _ rules: SubscriptionRules) {
        names = InternedChainNames(facts)
        var plans: [InternedText: [Int]] = [:]
        for index in facts.plans.indices { plans[names.current(facts.plans[index].chain), default: []].append(index) }
        // Transactions, each with its chain's present name.
        var members: [(name: InternedText, index: Int)] = []
        members.reserveCapacity(facts.transactions.count)
        for index in facts.transactions.indices {
            let name = names.current(facts.transactions[index].chain)
            guard facts.transactions[index].isSubscription || plans[name] != nil else { continue }
            members.append((name, index))
        }
        members.sort { one, other in
            one.name == other.name ? facts.begins(one.index, before: other.index) : one.name < other.name
        }
        var start = 0
        while start < members.count {
            let name = members[start].name
            let end = members[start...].firstIndex { $0.name != name } ?? members.count
            all.append(
                SubscriptionChain(name, members[start..<end].map(\.index), plans[name] ?? [], of: facts, rules))
            start = end
        }
    }
}

extension EntitlementFacts {
    /// Returns the newest plan, if all are signed with their time; else all plans.
    fileprivate func withoutOlderSigned(_ indices: [Int]) -> [Int] {
        guard indices.count > 1, indices.allSatisfy({ plans[$0].signedDate != nil }) else { return indices }
        let first = Timestamp.earliest
        return [indices.max { plans[$0].signedDate ?? first < plans[$1].signedDate ?? first }].compactMap(\.self)
    }
}

/// The groups of subscriptions, as far as they are known. A request may be about several customers.
private struct SubscriptionGroups {
    /// A chain without a group is its own group.
    private struct Name: Hashable {
        let group: InternedText
        let customer: InternedText?
    }

    private var paidServiceDays: [Name: Int64] = [:]
    /// The days of the only chain, the common case.
    private var onlyPaidServiceDays: Int64?
    /// The customers who used an introductory offer, by group.
    private var introduced: [InternedText: Set<InternedText?>] = [:]

    init(_ chains: [SubscriptionChain], at now: Timestamp) {
        for chain in chains where chain.usedIntroOffer {
            if let group = chain.group { introduced[group, default: []].insert(chain.customer) }
        }
        guard chains.count > 1 else {
            onlyPaidServiceDays = chains.first.map { PaidService([$0.timeline]).days(at: now) }
            return
        }
        paidServiceDays = Dictionary(grouping: chains, by: Self.name).mapValues { chains in
            PaidService(chains.map(\.timeline)).days(at: now)
        }
    }

    func paidServiceDays(of chain: SubscriptionChain) -> Int64 {
        onlyPaidServiceDays ?? paidServiceDays[Self.name(of: chain)] ?? 0
    }

    /// Returns nil if the group is unknown. An unknown customer may be any.
    func isEligibleForIntroOffer(_ chain: SubscriptionChain) -> Bool? {
        if chain.usedIntroOffer { return false }
        guard let group = chain.group else { return nil }
        guard let customers = introduced[group] else { return true }
        return chain.customer != nil && !customers.contains(chain.customer) && !customers.contains(nil)
    }

    private static func name(of chain: SubscriptionChain) -> Name {
        Name(group: chain.group ?? chain.name, customer: chain.customer)
    }
}

extension SubscriptionTimeline.Plan {
    /// Without a time for a plan that is not signed.
    package init(_ renewal: Renewal) {
        self.init(
            gracePeriodEnd: renewal.gracePeriodExpiresDate, isInBillingRetry: renewal.isInBillingRetry == true,
            renews: renewal.willRenew == true && renewal.expirationIntent == nil,
            knownAt: renewal.signedDate, status: renewal.status)
    }
}

extension PlanFacts {
    /// - Parameter knownAt: the time of a plan without a time of its own.
    fileprivate func plan(knownAt: Timestamp?) -> SubscriptionTimeline.Plan {
        var plan = timelinePlan
        plan.knownAt = plan.knownAt ?? knownAt
        return plan
    }
}

extension SubscriptionChange {
    /// Apple names no levels. But a notification may call the change a downgrade. An upgrade takes effect at once and
    /// marks the period that it ends: these marks show which product has the lower level.
    /// - Parameter chainContains: returns true if any transaction of the subscription matches.
    fileprivate init?(
        of transaction: TransactionFacts, _ plan: PlanFacts?, chainContains: ((TransactionFacts) -> Bool) -> Bool
    ) {
        if transaction.isUpgraded {
            self = .upgrade
            return
        }
        let planned = plan?.next(after: transaction)
        if let plan, planned?.willRenew != false, let next = planned?.product, next != transaction.product {
            if plan.isDowngrade || chainContains({ $0.isUpgraded && $0.product == next }) {
                self = .downgrade
            } else if chainContains({ $0.isUpgraded && $0.product == transaction.product }) {
                self = .upgrade
            } else {
                self = .crossgrade
            }
        } else if chainContains({ $0.isUpgraded(to: transaction) }) {
            self = .upgrade
        } else if planned?.product != nil {
            self = .none
        } else {
            return nil
        }
    }
}

extension TransactionFacts {
    /// Returns true if an upgrade ended this period and began the other period.
    fileprivate func isUpgraded(to other: TransactionFacts) -> Bool {
        guard isUpgraded, product != other.product, let start = other.purchaseDate else { return false }
        return purchaseDate.map { $0 < start } ?? false && start < expiryOrder
    }
}

// MARK: - Boundaries

/// Returns the next time after `now` at which anything derived from these dates can change; nil if there is none. The
/// ends of access (`Subscription.accessUntil`) are further boundaries.
private func nextBoundary(
    after now: Timestamp, in purchases: [some DatedPurchase], graceEnds: [Timestamp?]
) -> Timestamp? {
    var next: Timestamp?
    func consider(_ date: Timestamp?) {
        if let date, date > now { next = min(next ?? date, date) }
    }
    // By index, so that no transaction is copied: this runs several times for each answer.
    for index in purchases.indices where purchases[index].isSubscription {
        if let start = purchases[index].purchaseDate {
            consider(start.advanced(by: .zero - SubscriptionTimeline.Limits.earlyRenewal))
            consider(start)
        }
        consider(purchases[index].expiresDate)
    }
    for end in graceEnds { consider(end) }
    return next
}

extension EntitlementFacts {
    func nextBoundary(after now: Timestamp) -> Timestamp? {
        Gateway.nextBoundary(after: now, in: transactions, graceEnds: plans.map(\.timelinePlan.gracePeriodEnd))
    }
}

extension UpstreamAnswer {
    func nextBoundary(after now: Timestamp) -> Timestamp? {
        Gateway.nextBoundary(after: now, in: transactions, graceEnds: renewals.map(\.gracePeriodExpiresDate))
    }
}
