// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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
    /// The subscription's ID, which stays the same across renewals, upgrades and pauses.
    package let originalTransactionID: String
    package let state: SubscriptionState
    /// The time until which the customer is served: in the future if the state grants access, and only then; nil if access
    /// did not end by a date.
    package let accessUntil: Timestamp?
    /// The transaction of the period that decides the state.
    package let transaction: Transaction
    /// Apple's plan for the subscription (of several, the one for `transaction`'s product); nil if
    /// neither Apple's answer nor a signed renewal info has one.
    package let renewal: Renewal?
    /// True if no period in the subscription's group was a free trial or at an introductory price (Apple, "Implementing
    /// introductory offers in your app"). Receipts do not name groups: nil if the group is unknown, and this subscription
    /// had no such period.
    package let isEligibleForIntroOffer: Bool?
    /// The change of product that was made or is planned; nil if no plan is known.
    package let change: SubscriptionChange?
    /// The whole days of paid service in the subscription's group, as far as its transactions are known.
    package let paidServiceDays: Int64

    /// True if a paid period grants the access, and no allowance.
    package var isPaid: Bool {
        guard state == .active, let accessUntil, let end = transaction.expiresDate else { return false }
        return accessUntil <= end
    }
}

/// The rules for the states of subscriptions that are not in the transactions.
package struct SubscriptionRules: Hashable, Sendable {
    /// The time for which a renewal may be late.
    package var lateRenewal: Duration
    /// The time at which transactions and plans without a time of their own were known: of the signature over a receipt, or
    /// of Apple's answer; nil if unknown.
    package var knownAt: Timestamp?
    /// The end of the app's volume licence, which ends every period.
    package var licenceEnd: Timestamp?

    package init(
        lateRenewal: Duration = SubscriptionTimeline.Limits.lateRenewal, knownAt: Timestamp? = nil,
        licenceEnd: Timestamp? = nil
    ) {
        (self.lateRenewal, self.knownAt, self.licenceEnd) = (lateRenewal, knownAt, licenceEnd)
    }
}

extension Subscription {
    /// Returns the subscriptions among these transactions at `now`, in order of their ends, the latest first.
    package static func all(
        in transactions: [Transaction], renewals: [Renewal] = [], at now: Timestamp, rules: SubscriptionRules
    ) -> [Subscription] {
        let chains = KnownChain.all(in: transactions, renewals, rules)
        let groups = SubscriptionGroups(chains, at: now)
        var all = chains.indices.map { Subscription(chains[$0], of: transactions, groups, at: now, rules) }
        all.sort {
            ($0.transaction.expiryOrder, $0.originalTransactionID) > (
                $1.transaction.expiryOrder, $1.originalTransactionID
            )
        }
        return all
    }

    private init(
        _ chain: KnownChain, of transactions: [Transaction], _ groups: SubscriptionGroups, at now: Timestamp,
        _ rules: SubscriptionRules
    ) {
        let standing = chain.timeline.standing(at: now)
        let renewal = chain.plan(of: transactions[standing.index])
        let plan = renewal.map { SubscriptionTimeline.Plan($0, knownAt: rules.knownAt) }
        let state = standing.state(at: now, plan, lateRenewal: rules.lateRenewal)
        self.init(
            originalTransactionID: chain.name, state: state.state, accessUntil: state.accessUntil,
            transaction: transactions[standing.index], renewal: renewal,
            isEligibleForIntroOffer: groups.isEligibleForIntroOffer(chain),
            change: SubscriptionChange(of: transactions[standing.index], renewal) { isMeant in
                chain.timeline.periods.contains { isMeant(transactions[$0.index]) }
            }, paidServiceDays: groups.paidServiceDays(of: chain))
    }
}

/// The transactions and plans of one subscription.
private struct KnownChain {
    /// The present name.
    let name: String
    /// Apple's plans for the subscription and for its copies, and the names of their chains.
    private let plans: [Renewal], names: ChainNames
    let timeline: SubscriptionTimeline
    /// A chain stays in one group. Receipts name no groups.
    let group: String?
    /// The app transaction ID; nil if unknown.
    let customer: String?
    let usedIntroOffer: Bool

    private init(
        _ name: String, _ indices: [Int], of transactions: [Transaction], _ plans: [Renewal], _ names: ChainNames,
        _ rules: SubscriptionRules
    ) {
        (self.name, self.plans, self.names) = (name, plans, names)
        timeline = SubscriptionTimeline(transactions, indices, rules: rules)
        group = indices.lazy.compactMap { transactions[$0].subscriptionGroupID }.first
        customer = indices.lazy.compactMap { transactions[$0].signedFields?.value.appTransactionID }.first
        usedIntroOffer = indices.contains { transactions[$0].usedIntroOffer }
    }

    /// Returns the chains with a subscription or a plan.
    static func all(
        in transactions: [Transaction], _ renewals: [Renewal], _ rules: SubscriptionRules
    ) -> [KnownChain] {
        let names = ChainNames(transactions, renewals)
        let plans = Dictionary(grouping: renewals) { names.current($0.originalTransactionID) }
        var chains: [(name: String, indices: [Int])] = []
        var positions: [String: Int] = [:]
        for index in transactions.indices {
            let name = names.current(transactions[index].chainID)
            guard transactions[index].isSubscription || plans[name] != nil else { continue }
            // Without a search in the common case: the transactions of a chain follow each other.
            let position = chains.last?.name == name ? chains.count - 1 : positions[name]
            if let position {
                chains[position].indices.append(index)
            } else {
                positions[name] = chains.count
                chains.append((name, [index]))
            }
        }
        return chains.map { KnownChain($0.name, $0.indices, of: transactions, plans[$0.name] ?? [], names, rules) }
    }

    /// Returns Apple's plan for the subscription while a transaction stands.
    func plan(of transaction: Transaction) -> Renewal? {
        plans.filter { names.isSameChain($0.originalTransactionID, transaction.chainID) }
            .withoutOlderSigned.plan(forProduct: transaction.productID)
    }
}

/// The groups of subscriptions, as far as they are known. A request may be about several customers.
private struct SubscriptionGroups {
    /// A chain without a group is one of its own.
    private struct Name: Hashable {
        let group: String
        let customer: String?
    }

    private var paidServiceDays: [Name: Int64] = [:]
    /// The days of the only chain, the common case.
    private var onlyPaidServiceDays: Int64?
    /// The customers who used an introductory offer, by group.
    private var introduced: [String: Set<String?>] = [:]

    init(_ chains: [KnownChain], at now: Timestamp) {
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

    func paidServiceDays(of chain: KnownChain) -> Int64 {
        onlyPaidServiceDays ?? paidServiceDays[Self.name(of: chain)] ?? 0
    }

    /// Returns nil if the group is unknown. An unknown customer may be any.
    func isEligibleForIntroOffer(_ chain: KnownChain) -> Bool? {
        if chain.usedIntroOffer { return false }
        guard let group = chain.group else { return nil }
        guard let customers = introduced[group] else { return true }
        return chain.customer != nil && !customers.contains(chain.customer) && !customers.contains(nil)
    }

    private static func name(of chain: KnownChain) -> Name {
        Name(group: chain.group ?? chain.name, customer: chain.customer)
    }
}

extension SubscriptionTimeline.Plan {
    /// - Parameter knownAt: the time of a plan without a time of its own.
    package init(_ renewal: Renewal, knownAt: Timestamp?) {
        self.init(
            gracePeriodEnd: renewal.gracePeriodExpiresDate, isInBillingRetry: renewal.isInBillingRetry == true,
            renews: renewal.willRenew == true && renewal.expirationIntent == nil,
            knownAt: renewal.signedDate ?? knownAt, status: renewal.status)
    }
}

extension SubscriptionChange {
    /// Apple names no levels. But a notification may call the change a downgrade. An upgrade takes effect at once and
    /// marks the period that it ends: these marks show which product has the lower level.
    /// - Parameter chainContains: returns true if any transaction of the subscription matches.
    fileprivate init?(
        of transaction: Transaction, _ renewal: Renewal?, chainContains: ((Transaction) -> Bool) -> Bool
    ) {
        if transaction.isUpgraded {
            self = .upgrade
            return
        }
        if let renewal, renewal.willRenew != false, let next = renewal.renewalProductID, next != transaction.productID {
            if renewal.isDowngrade || chainContains({ $0.isUpgraded && $0.productID == next }) {
                self = .downgrade
            } else if chainContains({ $0.isUpgraded && $0.productID == transaction.productID }) {
                self = .upgrade
            } else {
                self = .crossgrade
            }
        } else if chainContains({ $0.isUpgraded(to: transaction) }) {
            self = .upgrade
        } else if renewal?.renewalProductID != nil {
            self = .none
        } else {
            return nil
        }
    }
}

extension Transaction {
    /// Returns true if an upgrade ended this period and began the other period.
    fileprivate func isUpgraded(to other: Transaction) -> Bool {
        guard isUpgraded, productID != other.productID, let start = other.purchaseDate else { return false }
        return purchaseDate.map { $0 < start } ?? false && start < expiryOrder
    }
}

/// The names of chains that have several: Apple may replace an original transaction ID, and then names the previous ID
/// (`previousOriginalTransactionId`); and copies of one period may have chains of their own.
package struct ChainNames {
    private enum Limits {
        /// The names of one chain that are followed. Apple renames chains rarely.
        static let names = 64
    }

    private var renamed: [String: String] = [:]
    /// The chains of copies, each with the chain that gives the name.
    private var joined: [String: String] = [:]

    package init(_ transactions: [Transaction], _ renewals: [Renewal] = []) {
        for renewal in renewals {
            guard let previous = renewal.signedFields?.value.previousOriginalTransactionID else { continue }
            renamed[previous] = renewal.originalTransactionID
        }
        for index in transactions.indices {
            guard let previous = transactions[index].signedFields?.value.previousOriginalTransactionID else { continue }
            renamed[previous] = transactions[index].chainID
        }
        joinCopies(in: transactions)
    }

    /// Names the chains of a period's copies after the chain that began first.
    private mutating func joinCopies(in transactions: [Transaction]) {
        // By index, so that no transaction is copied.
        let hasSeveral = transactions.indices.contains { transactions[$0].chainID != transactions[0].chainID }
        guard hasSeveral else { return }
        var firsts: [PurchasedPeriod: Int] = [:]
        for index in transactions.indices {
            guard let period = PurchasedPeriod(at: index, of: transactions) else { continue }
            guard let known = firsts[period] else {
                firsts[period] = index
                continue
            }
            let isFirst = transactions[index].namesCopies(before: transactions[known])
            let (first, other) = isFirst ? (index, known) : (known, index)
            let (name, previous) = (current(transactions[first].chainID), current(transactions[other].chainID))
            if previous != name { joined[previous] = name }
            firsts[period] = first
        }
    }

    /// Returns true if both are names of one chain that Apple renamed. Copies have plans of their own.
    func isSameChain(_ one: String, _ other: String) -> Bool {
        one == other || followed(one, false) == followed(other, false)
    }

    /// Returns the chain's present name: Apple may have renamed it more than once.
    package func current(_ id: String) -> String { followed(id, true) }

    private func followed(_ id: String, _ followsCopies: Bool) -> String {
        var id = id
        // Bounded, as two chains may name each other.
        for _ in 0..<min(renamed.count + joined.count, Limits.names) {
            guard let next = renamed[id] ?? (followsCopies ? joined[id] : nil) else { break }
            id = next
        }
        return id
    }
}

// MARK: - Boundaries

/// Returns the next time after `now` at which anything derived from these dates can change; nil if there is none. The
/// ends of access (`Subscription.accessUntil`) are further boundaries.
package func nextBoundary(after now: Timestamp, in transactions: [Transaction], _ renewals: [Renewal] = [])
    -> Timestamp?
{
    var next: Timestamp?
    func consider(_ date: Timestamp?) {
        if let date, date > now { next = min(next ?? date, date) }
    }
    // By index, so that no transaction is copied: this runs several times for each answer.
    for index in transactions.indices where transactions[index].isSubscription {
        if let start = transactions[index].purchaseDate {
            consider(start.advanced(by: .zero - SubscriptionTimeline.Limits.earlyRenewal))
            consider(start)
        }
        consider(transactions[index].expiresDate)
    }
    for renewal in renewals { consider(renewal.gracePeriodExpiresDate) }
    return next
}

extension Transaction {
    /// Returns true for the copy of the chain that began first. If both began together, the smaller ID decides.
    fileprivate func namesCopies(before other: Transaction) -> Bool {
        (originalPurchaseDate ?? .latest, chainID) < (other.originalPurchaseDate ?? .latest, other.chainID)
    }
}
