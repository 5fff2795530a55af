// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

/// A signed state with its place among the states of its transaction or plan.
package struct OrderedState: Hashable, Sendable {
    package let item: SignedStateItem
    package let order: SignedStateOrder

    package init(_ item: SignedStateItem, _ order: SignedStateOrder) {
        (self.item, self.order) = (item, order)
    }

    /// Returns true for a state of the same transaction, or also of the plan.
    package func isAbout(_ other: OrderedState) -> Bool {
        item.transaction?.transactionID == other.item.transaction?.transactionID
    }

    /// Returns the plan with what another plan says about the same change of product.
    fileprivate func adoptingChange(of other: OrderedState) -> OrderedState {
        guard var renewal = item.renewal, let known = other.item.renewal else { return self }
        renewal.adoptChange(of: known)
        return OrderedState(.renewal(renewal), order)
    }
}

/// The newest signed state of each transaction and of the plan of one chain, and the events made of them: the same
/// record in whatever order states are merged.
package struct ChainRecord: Hashable, Sendable {
    package enum Limits {
        /// The transactions whose state is kept, the latest signed: a refund of an old purchase is signed anew.
        package static let transactions = 32
        /// The events that a chain remembers, the newest.
        package static let announced = 64
    }

    package let chain: PurchaseChain
    /// By transaction ID.
    package private(set) var transactions: [String: OrderedState] = [:]
    package private(set) var renewal: OrderedState?
    /// The IDs of the events of this chain, the oldest first.
    package private(set) var announced: [String]
    /// True if Apple has renamed the chain: its events are made under the other name.
    package private(set) var isRenamed: Bool

    package init(_ chain: PurchaseChain, announced: [String] = [], isRenamed: Bool = false) {
        (self.chain, self.announced, self.isRenamed) = (chain, announced, isRenamed)
    }

    package var states: [OrderedState] { transactions.values + [renewal].compactMap(\.self) }

    package var state: CustomerState {
        CustomerState(
            transactions: transactions.values.sorted { $1.order < $0.order }.compactMap(\.item.transaction),
            renewals: [renewal?.item.renewal].compactMap(\.self))
    }

    /// Adds a state unless a newer state of its transaction or plan is known.
    package mutating func add(_ new: OrderedState) {
        switch new.item {
        case .transaction(let transaction):
            let known = transactions[transaction.transactionID]
            if known.map({ $0.order < new.order }) ?? true { transactions[transaction.transactionID] = new }
        case .renewal:
            guard let known = renewal else { return renewal = new }
            renewal = known.order < new.order ? new.adoptingChange(of: known) : known.adoptingChange(of: new)
        }
    }

    /// Adds signed states, and returns the events that they make. Only a notification begins a record.
    /// - Parameter order: returns the order of a state.
    package mutating func merge(
        _ update: CustomerStateUpdate, _ rules: EventRules, at now: Timestamp,
        order: (SignedStateItem) -> SignedStateOrder
    ) -> MergeOutcome {
        guard !states.isEmpty || update.cause.source == .notification else {
            return MergeOutcome(changed: false, events: [])
        }
        let before = self
        for item in update.items { add(OrderedState(item, order(item))) }
        removeSurplus()
        isRenamed = newestChainID.map { $0 != chain.originalTransactionID } ?? false
        let events = isRenamed ? [] : newEvents(since: before, update.cause, rules, at: now)
        announced = Array((announced + events.map(\.id)).suffix(Limits.announced))
        return MergeOutcome(changed: self != before, events: events)
    }

    /// The name of the chain in its newest state. Apple may rename it, and later rename it back.
    private var newestChainID: String? {
        transactions.values.max { $0.order < $1.order }?.item.transaction?.chainID
    }

    private mutating func removeSurplus() {
        let newest = transactions.sorted { $1.value.order < $0.value.order }.prefix(Limits.transactions)
        if newest.count < transactions.count { transactions = Dictionary(uniqueKeysWithValues: Array(newest)) }
    }

    private func newEvents(
        since before: ChainRecord, _ cause: EventCause, _ rules: EventRules, at now: Timestamp
    ) -> [Event] {
        StateTransition(
            chain: chain, before: before.state, after: state, announced: Set(announced), cause: cause, now: now,
            expiryDelay: rules.expiryDelay, keepsSignedData: rules.keepsSignedData
        ).events
    }

    /// The next time at which dates alone make an event; nil if none is expected.
    package func nextEventTime(_ rules: EventRules, at now: Timestamp) -> Timestamp? {
        isRenamed
            ? nil : state.nextEventTime(of: chain, announced: Set(announced), expiryDelay: rules.expiryDelay, at: now)
    }
}

extension SignedStateItem {
    fileprivate var transaction: Transaction? {
        if case .transaction(let transaction) = self { transaction } else { nil }
    }
    fileprivate var renewal: Renewal? { if case .renewal(let renewal) = self { renewal } else { nil } }
}
