// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The identity of a purchase that is kept for ever, which all its copies share. Restored copies have transaction IDs
/// of their own, and name the first transaction.
private struct OneTimePurchase: PurchaseIdentity {
    private let originalTransactionID: String
    private let productID: String
    private let isShared: Bool

    /// Nil for subscriptions, and for what is used up.
    init?(at index: Int, of transactions: [Transaction]) {
        guard !transactions[index].isSubscription, !transactions[index].isConsumable else { return nil }
        (originalTransactionID, productID) = (transactions[index].chainID, transactions[index].productID)
        isShared = transactions[index].ownership == .familyShared
    }
}

extension [Transaction] {
    /// Returns the transactions with the revocation of each one-time purchase in all its copies, except copies that
    /// Apple signed later without a revocation.
    /// - Parameter knownAt: the time of transactions without a time of their own; nil if unknown.
    package func revokingCopies(knownAt: Timestamp?) -> [Transaction] {
        let copies = RevokedCopies<OneTimePurchase>(self, indices, knownAt: knownAt)
        guard !copies.isEmpty else { return self }
        var transactions = self
        for index in indices where self[index].cancellationDate == nil {
            guard let copy = copies.revocation(at: index, of: self) else { continue }
            transactions[index].takeRevocation(of: self[copy])
        }
        return transactions
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
