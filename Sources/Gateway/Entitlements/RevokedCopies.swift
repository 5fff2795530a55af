// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// An identity that all copies of one purchase share.
protocol PurchaseIdentity: Hashable {
    /// Nil for a transaction without such an identity.
    init?(_ transaction: TransactionFacts)
}

/// The identity of a purchase that is kept for ever. Restored copies have transaction IDs of their own, and name the first
/// transaction.
private struct OneTimePurchase: PurchaseIdentity {
    private let chain, product: InternedText
    private let isShared: Bool

    /// Nil for subscriptions, and for what is used up.
    init?(_ transaction: TransactionFacts) {
        guard !transaction.isSubscription, !transaction.isConsumable else { return nil }
        (chain, product, isShared) = (transaction.chain, transaction.product, transaction.isFamilyShared)
    }
}

/// The identity of a purchased period, which all its copies share.
///
/// Restored and regranted purchases have transaction IDs of their own. All copies of a period share one
/// `webOrderLineItemId` (an Apple engineer, forum thread 711952); purchases without a subscription have none.
package struct PurchasedPeriod: Hashable, Sendable {
    private let webOrderLineItemID: String
    private let productID: String
    /// True for a copy that a member of the family shares: the end of sharing does not end the purchase.
    private let isShared: Bool

    /// Nil for a transaction without such an identity.
    package init?(of transaction: Transaction) {
        guard transaction.isSubscription, let item = transaction.webOrderLineItemID, item != "0" else { return nil }
        (webOrderLineItemID, productID) = (item, transaction.productID)
        isShared = transaction.ownership == .familyShared
    }
}

/// The same identity among the facts of one list.
struct PeriodFacts: PurchaseIdentity {
    private let lineItem: TransactionFacts.LineItem
    private let product: InternedText
    private let isShared: Bool

    init?(_ transaction: TransactionFacts) {
        guard transaction.isSubscription, let item = transaction.lineItem else { return nil }
        (lineItem, product, isShared) = (item, transaction.product, transaction.isFamilyShared)
    }
}

/// The purchases with a revoked copy.
struct RevokedCopies<Purchase: PurchaseIdentity> {
    /// The revocation of each purchase that was known last.
    private var revocations: [Purchase: (index: Int, knownAt: Timestamp)] = [:]
    /// The time of transactions without a time of their own; nil if unknown.
    private let knownAt: Timestamp?

    init(_ transactions: [TransactionFacts], _ indices: some Sequence<Int>, knownAt: Timestamp?) {
        self.knownAt = knownAt
        for index in indices where transactions[index].cancellationDate != nil && !transactions[index].isUpgraded {
            guard let purchase = Purchase(transactions[index]) else { continue }
            let new = transactions[index].signedDate ?? knownAt ?? .latest
            if revocations[purchase].map({ $0.knownAt <= new }) ?? true { revocations[purchase] = (index, new) }
        }
    }

    var isEmpty: Bool { revocations.isEmpty }

    /// Returns the index of the copy whose revocation also ends a transaction. Nil if no copy is revoked, or if Apple
    /// signed the transaction after the revocation.
    func revocation(of transaction: TransactionFacts) -> Int? {
        guard !isEmpty, let purchase = Purchase(transaction), let revoked = revocations[purchase] else { return nil }
        let isLater = (transaction.signedDate ?? knownAt).map { revoked.knownAt < $0 } ?? false
        return isLater ? nil : revoked.index
    }
}

extension EntitlementFacts {
    /// Returns the transactions with the revocation of each one-time purchase in all its copies, except copies that
    /// Apple signed later without a revocation.
    /// - Parameter knownAt: the time of transactions without a time of their own; nil if unknown.
    func revokingCopies(knownAt: Timestamp?) -> TransactionList {
        let copies = RevokedCopies<OneTimePurchase>(transactions, transactions.indices, knownAt: knownAt)
        guard !copies.isEmpty else { return list }
        var values = list.values
        for index in values.indices where transactions[index].cancellationDate == nil {
            guard let copy = copies.revocation(of: transactions[index]) else { continue }
            values[index].takeRevocation(of: list[copy])
        }
        return TransactionList(values)
    }
}

extension Transaction {
    fileprivate mutating func takeRevocation(of copy: Transaction) {
        (cancellationDate, cancellationReason) = (copy.cancellationDate, copy.cancellationReason)
        guard var fields = signedFields?.value else { return }
        fields.revocationType = copy.signedFields?.value.revocationType
        fields.revocationPercentage = copy.signedFields?.value.revocationPercentage
        signedFields = .value(fields)
    }
}
