// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// Transactions and plans, and what they entitle the customer to at one moment.
package struct Entitlements: Sendable {
    /// Nothing, for an answer that is not about purchases.
    package static let none = Entitlements(EntitlementFacts(TransactionList([])), SubscriptionRules(), [])

    /// The facts of all transactions and plans.
    let facts: EntitlementFacts
    private let rules: SubscriptionRules
    /// The subscriptions, in order of their ends, the latest first.
    package let subscriptions: [Subscription]
    /// The transactions to show: perhaps fewer, or with the revocations of copies.
    package private(set) var transactions: TransactionList

    private init(_ facts: EntitlementFacts, _ rules: SubscriptionRules, _ subscriptions: [Subscription]) {
        (self.facts, self.rules, self.subscriptions, transactions) = (facts, rules, subscriptions, facts.list)
    }

    package init(
        in transactions: TransactionList, renewals: [Renewal] = [], at now: Timestamp, rules: SubscriptionRules
    ) {
        let facts = EntitlementFacts(transactions, renewals)
        self.init(facts, rules, facts.subscriptions(at: now, rules))
    }

    package var renewals: [Renewal] { facts.renewals }

    /// The memory of the transactions as values, and of their facts.
    var byteCount: Int {
        transactions.values.byteCount + facts.transactions.count * MemoryLayout<TransactionFacts>.stride
    }

    /// The same entitlements, with the transactions as values.
    var holdingValues: Entitlements {
        var shown = self
        shown.transactions = TransactionList(transactions.values)
        return shown
    }

    /// Returns the same entitlements, which show the revocation of each one-time purchase in all its copies.
    /// - Parameter knownAt: the time of transactions without a time of their own; nil if unknown.
    func revokingCopies(knownAt: Timestamp?) -> Entitlements {
        var shown = self
        shown.transactions = facts.revokingCopies(knownAt: knownAt)
        return shown
    }

    /// Returns the same entitlements, which show only some of the transactions.
    func listing(_ isListed: (Transaction) -> Bool) -> Entitlements {
        var shown = self
        shown.transactions = TransactionList(transactions.filter(isListed))
        return shown
    }

    /// The one-time purchases, and for each subscription the transaction that decides its state.
    package var latestTransactions: TransactionList {
        let standing = Set(subscriptions.map { facts.list.transactionID(at: $0.transactionIndex) })
        return TransactionList(
            transactions.filter { !$0.isSubscription || standing.contains($0.transactionID) })
    }

    /// The times at which other periods replaced periods, by transaction ID, as far as they are known.
    package var replacementDates: [String: Timestamp] { facts.replacementDates(rules) }

    /// Returns the transaction of each subscription that Apple's `verifyReceipt` shows as the latest, by the subscription's ID.
    package func latestPeriods(at now: Timestamp) -> [String: Transaction] { facts.latestPeriods(at: now, rules) }
}
