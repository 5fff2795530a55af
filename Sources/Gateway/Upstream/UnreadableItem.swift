// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// A transaction or plan in an answer of Apple that cannot be read. It is left out; the rest of the answer counts.
package struct UnreadableItem: Error, Hashable, Sendable {
    /// The IDs in it, as far as they can be read.
    package var transactionID, originalTransactionID, productID: String?
    /// True if it has a revocation: older copies of the transaction grant nothing any more.
    package var isRevoked: Bool
    /// The rule or the member that is broken, for the log.
    package var fault: String

    package init(
        transactionID: String? = nil, originalTransactionID: String? = nil, productID: String? = nil,
        isRevoked: Bool = false, fault: String
    ) {
        (self.transactionID, self.originalTransactionID) = (transactionID, originalTransactionID)
        (self.productID, self.isRevoked, self.fault) = (productID, isRevoked, fault)
    }

    /// Returns true if it is about this transaction, as far as it can be read.
    func mayBe(_ transaction: Transaction) -> Bool {
        transactionID ?? transaction.transactionID == transaction.transactionID
            && originalTransactionID ?? transaction.chainID == transaction.chainID
    }

    /// Returns true if it has this ID, or may have it.
    package func mayName(_ id: String) -> Bool {
        transactionID == nil || originalTransactionID == nil || transactionID == id || originalTransactionID == id
    }
}

extension UpstreamAnswer {
    /// Marks the answer as lacking items, and adds the revocations among the items. The answer continues no history:
    /// the next history is read from its beginning.
    /// - Parameter now: the time of Apple's answer.
    package mutating func leaveOut(_ items: [UnreadableItem], at now: Timestamp) {
        guard !items.isEmpty else { return }
        (lacksItems, revision, unreadable) = (true, nil, items)
        var indices = transactions.indicesByID
        for item in items {
            guard item.isRevoked, let id = item.transactionID else { continue }
            var revoked = Transaction(productID: item.productID ?? "", transactionID: id)
            revoked.originalTransactionID = item.originalTransactionID
            revoked.revoke(at: now)
            transactions.add(revoked, &indices) { $0.revoke(at: now) }
        }
    }

    /// Fills the gaps of unreadable items with what an earlier answer has in their place.
    mutating func fillGaps(from earlier: UpstreamAnswer) {
        let open = unreadable.filter { !$0.isRevoked }
        guard !open.isEmpty else { return }
        let known = Set(transactions.map(\.transactionID))
        transactions += earlier.transactions.filter { transaction in
            !known.contains(transaction.transactionID) && open.contains { $0.mayBe(transaction) }
        }
        let planned = Set(renewals.map(\.originalTransactionID))
        renewals += earlier.renewals.filter { plan in
            !planned.contains(plan.originalTransactionID)
                && open.contains {
                    $0.originalTransactionID ?? plan.originalTransactionID == plan.originalTransactionID
                }
        }
    }
}

extension Transaction {
    /// Revokes it at the latest at this time, by a signature of this time: an older copy does not outweigh it.
    fileprivate mutating func revoke(at now: Timestamp) {
        cancellationDate = cancellationDate ?? now
        var fields = signedFields?.value ?? SignedTransactionFields()
        fields.signedDate = now
        signedFields = .value(fields)
    }
}
