// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// An identity that all copies of one purchase share.
protocol PurchaseIdentity: Hashable {
    /// Nil for a transaction without such an identity. By index, so that no transaction is copied.
    init?(at index: Int, of transactions: [Transaction])
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

    init(_ transactions: [Transaction], _ indices: some Sequence<Int>, knownAt: Timestamp?) {
        self.knownAt = knownAt
        for index in indices where transactions[index].cancellationDate != nil && !transactions[index].isUpgraded {
            guard let purchase = Purchase(at: index, of: transactions) else { continue }
            let new = Revocation(index: index, knownAt: transactions[index].signedDate ?? knownAt ?? .latest)
            if revocations[purchase].map({ $0.knownAt <= new.knownAt }) ?? true { revocations[purchase] = new }
        }
    }

    var isEmpty: Bool { revocations.isEmpty }

    /// Returns the index of the copy whose revocation also ends a transaction. Nil if no copy is revoked, or if Apple
    /// signed the transaction after the revocation.
    func revocation(at index: Int, of transactions: [Transaction]) -> Int? {
        guard !isEmpty, let purchase = Purchase(at: index, of: transactions), let revoked = revocations[purchase] else {
            return nil
        }
        let isLater = (transactions[index].signedDate ?? knownAt).map { revoked.knownAt < $0 } ?? false
        return isLater ? nil : revoked.index
    }
}
