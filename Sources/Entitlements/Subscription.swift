// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The entitlement of a subscription at one moment. The raw values are those of the API.
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

/// A subscription's change of product. The raw values are those of the API.
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
    /// Returns the subscriptions among these transactions at `now`, the one that ends last first.
    package static func all(
        in transactions: [Transaction], renewals: [Renewal] = [], at now: Timestamp, rules: SubscriptionRules
    ) -> [Subscription] {
        let chains = ChainNames(transactions, renewals)
        let plans = Dictionary(grouping: renewals) { chains.current($0.originalTransactionID) }
        // By index: a transaction holds a dozen strings, and is copied only where needed.
        let subscriptions = transactions.indices.filter { index in
            transactions[index].isSubscription
                || (!plans.isEmpty && plans[chains.current(transactions[index].chainID)] != nil)
        }
        let groupsWithOffer = Set(
            subscriptions.compactMap { transactions[$0].usedIntroOffer ? transactions[$0].subscriptionGroupID : nil })
        let timelines = Dictionary(grouping: subscriptions) { chains.current(transactions[$0].chainID) }
            .mapValues { (chain: $0, timeline: SubscriptionTimeline(transactions, $0, rules: rules)) }
        // Receipts name no groups, and a chain stays in one. A request may be about several customers.
        func group(_ id: String, _ chain: [Int]) -> [String] {
            let customer = chain.lazy.compactMap { transactions[$0].signedFields?.value.appTransactionID }.first
            return [chain.lazy.compactMap { transactions[$0].subscriptionGroupID }.first ?? id, customer ?? ""]
        }
        var services: [[String]: PaidService] = [:]
        for (id, known) in timelines {
            services[group(id, known.chain), default: PaidService()].add(known.timeline, transactions)
        }
        let days = services.mapValues { $0.days(at: now) }
        var all = timelines.map { id, known in
            Subscription(
                id, transactions, known, (plans[id] ?? [], chains), groupsWithOffer, at: now, rules,
                paidServiceDays: days[group(id, known.chain)] ?? 0)
        }
        all.sort {
            ($0.transaction.expiryOrder, $0.originalTransactionID) > (
                $1.transaction.expiryOrder, $1.originalTransactionID
            )
        }
        return all
    }

    /// - Parameters:
    ///   - known: the indices of its transactions, at least one, and the timeline made of them.
    ///   - plans: Apple's plans for it and for its copies, and the names of their chains.
    private init(
        _ originalTransactionID: String, _ transactions: [Transaction],
        _ known: (chain: [Int], timeline: SubscriptionTimeline), _ plans: (all: [Renewal], names: ChainNames),
        _ groupsWithOffer: Set<String>, at now: Timestamp, _ rules: SubscriptionRules, paidServiceDays: Int64
    ) {
        let (chain, standing) = (known.chain, known.timeline.standing(at: now))
        let transaction = transactions[standing.index]
        let own = plans.all.filter { plans.names.isSameChain($0.originalTransactionID, transaction.chainID) }
        let renewal = own.withoutOlderSigned.plan(forProduct: transaction.productID)
        let plan = renewal.map { SubscriptionTimeline.Plan($0, knownAt: rules.knownAt) }
        let state = standing.state(at: now, plan, lateRenewal: rules.lateRenewal)
        self.init(
            originalTransactionID: originalTransactionID, state: state.state, accessUntil: state.accessUntil,
            transaction: transaction, renewal: renewal,
            isEligibleForIntroOffer: Self.isEligibleForIntroOffer(transactions, chain, groupsWithOffer),
            change: SubscriptionChange(of: transaction, renewal) { isMeant in
                chain.contains { isMeant(transactions[$0]) }
            }, paidServiceDays: paidServiceDays)
    }

    private static func isEligibleForIntroOffer(
        _ transactions: [Transaction], _ chain: [Int], _ groupsWithOffer: Set<String>
    ) -> Bool? {
        if chain.contains(where: { transactions[$0].usedIntroOffer }) { return false }
        let groups = chain.compactMap { transactions[$0].subscriptionGroupID }
        return groups.isEmpty ? nil : !groups.contains(where: groupsWithOffer.contains)
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
    /// Apple names no levels. But an upgrade takes effect at once and marks the period that it ends, so these marks
    /// show which of two products is the lower one.
    /// - Parameter chainContains: returns true if any transaction of the subscription matches.
    fileprivate init?(
        of transaction: Transaction, _ renewal: Renewal?, chainContains: ((Transaction) -> Bool) -> Bool
    ) {
        if transaction.isUpgraded {
            self = .upgrade
            return
        }
        if renewal?.willRenew != false, let next = renewal?.renewalProductID, next != transaction.productID {
            if chainContains({ $0.isUpgraded && $0.productID == next }) {
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
    /// Returns true if an upgrade ended this period and began the other one.
    fileprivate func isUpgraded(to other: Transaction) -> Bool {
        guard isUpgraded, productID != other.productID, let start = other.purchaseDate else { return false }
        return purchaseDate.map { $0 < start } ?? false && start < expiryOrder
    }
}

/// The names of chains that have several: Apple may replace an original transaction ID, and then names the previous one
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
        guard let first = transactions.first, transactions.contains(where: { $0.chainID != first.chainID }) else {
            return
        }
        var firsts: [PurchasedPeriod: Int] = [:]
        for index in transactions.indices {
            guard let period = PurchasedPeriod(of: transactions[index]) else { continue }
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

/// Returns the next time after `now` at which anything derived from these dates can change; nil if there is none. The ends of
/// access (`Subscription.accessUntil`) are further ones.
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
    /// Returns true for the copy of the chain that began first; of two, for the one with the smaller ID.
    fileprivate func namesCopies(before other: Transaction) -> Bool {
        (originalPurchaseDate ?? .latest, chainID) < (other.originalPurchaseDate ?? .latest, other.chainID)
    }
}
