// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

/// A chain's states before and after, under its present name: when Apple renames a chain, both names have the state.
struct ChainChange: Sendable {
    let scope: EventScope
    let transition: StateTransition
    /// The transactions after, the oldest first.
    let transactions: [Transaction]
    let previousRenewal: Renewal?
    let renewal: Renewal?
    /// The notification's transaction, if it is of this chain.
    let notified: Transaction?
    private let transactionsBefore: [String: Transaction]

    enum Limits {
        /// The difference between the end of a replaced period and the start of its successor.
        static let replacement: Duration = .seconds(60)
    }

    init(_ transition: StateTransition) {
        self.transition = transition
        scope = EventScope(transition.chain)
        let id = transition.chain.originalTransactionID
        let cause = transition.cause
        notified = cause.transaction.flatMap { $0.chainID == id ? $0 : nil }
        var after = transition.after.transactions.filter { $0.chainID == id }
        if let notified, !after.contains(where: { $0.transactionID == notified.transactionID }) {
            after.append(notified)
        }
        transactions = after.sorted { $0.startOrder < $1.startOrder }
        transactionsBefore = Dictionary(transition.before.transactions.map { ($0.transactionID, $0) }) { first, _ in
            first
        }
        previousRenewal = transition.before.renewals.first { $0.originalTransactionID == id }
        renewal = transition.after.renewals.first { $0.originalTransactionID == id }
    }

    var signedDate: Timestamp { transition.cause.signedDate }

    var changes: [TransactionChange] {
        transactions.map { transaction in
            let notified = notified?.transactionID == transaction.transactionID ? notified : nil
            return TransactionChange(
                before: before(transaction), after: transaction, notified: notified,
                named: notified == nil ? nil : transition.cause.notifiedChange, chain: self)
        }
    }

    /// Returns the same transaction before; nil if it was unknown.
    func before(_ transaction: Transaction) -> Transaction? { transactionsBefore[transaction.transactionID] }

    func isAnnounced(_ change: EventContents.Change, of key: [String]) -> Bool {
        transition.announced.contains(scope.id(change, of: key))
    }

    /// Returns the other copies of a purchase: Apple gives each device and each restoration an ID of its own.
    func copies(of transaction: Transaction) -> [Transaction] {
        guard let period = PurchasedPeriod(of: transaction) else { return [] }
        return transactions.filter {
            $0.transactionID != transaction.transactionID && PurchasedPeriod(of: $0) == period
        }
    }

    /// Returns true if a copy that comes earlier is as new as this transaction, so that it announces the purchase.
    func announcesCopy(of transaction: Transaction) -> Bool {
        guard before(transaction) == nil else { return false }
        return copies(of: transaction).contains { copy in
            before(copy) == nil && copy.startOrder < transaction.startOrder && copy.isRecent(copy.purchaseDate)
                && copy.reason != .restore
        }
    }

    func predecessor(of transaction: Transaction) -> Transaction? {
        transactions.last { $0.isSubscription && $0.startOrder < transaction.startOrder }
    }

    func wasUnpaid(before transaction: Transaction) -> Bool {
        guard let previousRenewal else { return false }
        let isNewest = transactionsBefore.values.allSatisfy { $0.startOrder < transaction.startOrder }
        return isNewest && (previousRenewal.isInBillingRetry == true || previousRenewal.gracePeriodExpiresDate != nil)
    }

    /// Returns true if Apple refunded the transaction, or ended its sharing.
    /// In receipts an upgrade looks like a refund, and begins another product at that time.
    func isRevoked(_ transaction: Transaction) -> Bool {
        guard let date = transaction.cancellationDate, !transaction.isUpgraded else { return false }
        guard transaction.revocation == nil else { return true }
        return !transactions.contains { other in
            guard other.productID != transaction.productID, let start = other.purchaseDate else { return false }
            return transaction.startOrder < other.startOrder
                && start.duration(to: date).magnitude <= Limits.replacement
        }
    }
}

extension Transaction {
    fileprivate var startOrder: (Timestamp, String) { (purchaseDate ?? .earliest, transactionID) }
}
