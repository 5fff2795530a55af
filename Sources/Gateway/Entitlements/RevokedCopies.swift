// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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

/// The purchases with a revoked copy.
struct RevokedCopies<Purchase: PurchaseIdentity> {
    private struct Revocation {
        let index: Int
        let knownAt: Timestamp
    }

    /// The revocation of each purchase that was known last.
    private var revocations: [Purchase: Revocation] = [:]
    /// The time of transactions without a time of their own; nil if unknown.
    private let knownAt: Timestamp?

    init(_ transactions: [TransactionFacts], _ indices: some Sequence<Int>, knownAt: Timestamp?) {
        self.knownAt = knownAt
        for index in indices where transactions[index].cancellationDate != nil && !transactions[index].isUpgraded {
            guard let purchase = Purchase(transactions[index]) else { continue }
            let new = Revocation(index: index, knownAt: transactions[index].signedDate ?? knownAt ?? .latest)
            if revocations[purchase].map({ $0.knownAt <= new.knownAt }) ?? true { revocations[purchase] = new }
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
