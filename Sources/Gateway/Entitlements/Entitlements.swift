// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// Transactions and plans, and what they entitle the customer to at one moment.
package struct Entitlements: Sendable {
    /// Nothing, for an answer that is not about purchases.
    package static let none = Entitlements(EntitlementFacts(TransactionList([])), [])

    /// The facts of all transactions and plans. Indices of subscriptions lead into their lists.
    let facts: EntitlementFacts
    /// The subscriptions, in order of their ends, the latest first.
    package let evaluated: [EvaluatedSubscription]
    /// The transactions to show: perhaps fewer, or with the revocations of copies.
    package private(set) var transactions: TransactionList

    private init(_ facts: EntitlementFacts, _ evaluated: [EvaluatedSubscription]) {
        (self.facts, self.evaluated, transactions) = (facts, evaluated, facts.list)
    }

    init(in transactions: TransactionList, renewals: [Renewal] = [], at now: Timestamp, rules: SubscriptionRules) {
        let facts = EntitlementFacts(transactions, renewals)
        self.init(facts, facts.subscriptions(at: now, rules))
    }

    package init(
        in transactions: [Transaction], renewals: [Renewal] = [], at now: Timestamp, rules: SubscriptionRules
    ) {
        self.init(in: TransactionList(transactions), renewals: renewals, at: now, rules: rules)
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
}

// MARK: - Texts

/// One subscription at one moment, with its texts.
@dynamicMemberLookup
package struct Subscription: Sendable {
    package let originalTransactionID: String
    /// The transaction of the period that decides the state.
    package let transaction: Transaction
    /// Apple's plan for the subscription; nil if none is known.
    package let renewal: Renewal?
    private let evaluated: EvaluatedSubscription

    fileprivate init(_ evaluated: EvaluatedSubscription, of entitlements: Entitlements) {
        self.evaluated = evaluated
        originalTransactionID = entitlements.originalTransactionID(of: evaluated)
        transaction = entitlements.transaction(of: evaluated)
        renewal = entitlements.renewal(of: evaluated)
    }

    package subscript<Value>(dynamicMember member: KeyPath<EvaluatedSubscription, Value>) -> Value {
        evaluated[keyPath: member]
    }
}

extension Entitlements {
    /// Returns a subscription's ID, which stays the same across renewals, upgrades and pauses.
    package func originalTransactionID(of subscription: EvaluatedSubscription) -> String {
        facts.texts[subscription.chain]
    }

    /// Returns the transaction of the period that decides the state.
    package func transaction(of subscription: EvaluatedSubscription) -> Transaction {
        facts.list[subscription.transactionIndex]
    }

    /// Returns Apple's plan for a subscription; nil if none is known.
    package func renewal(of subscription: EvaluatedSubscription) -> Renewal? {
        subscription.planIndex.map { renewals[$0] }
    }

    /// The subscriptions with their texts, in order of their ends, the latest first.
    package var subscriptions: [Subscription] { evaluated.map { Subscription($0, of: self) } }

    /// The one-time purchases, and for each subscription the transaction that decides its state.
    package var latestTransactions: TransactionList {
        let standing = Set(evaluated.map { facts.list.transactionID(at: $0.transactionIndex) })
        return TransactionList(
            transactions.filter { !$0.isSubscription || standing.contains($0.transactionID) })
    }
}
