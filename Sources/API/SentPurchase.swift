// SPDX-License-Identifier: Apache-2.0

internal import Gateway

// The evidence may be a copy of a purchase. A copy of a period can have another chain than Apple's answer, and a restored
// item has another ID.

extension Answer {
    /// Returns the subscription that a sent purchase belongs to; nil for another product.
    func subscription(of sent: Transaction) -> Subscription? {
        let chains = ChainNames(transactions.values + [sent], renewals)
        let chain = chains.current(sent.chainID)
        return subscriptions.first { chains.current($0.originalTransactionID) == chain }
    }

    /// Returns the sent purchase as it is known now.
    func newestState(of sent: Transaction) -> Transaction {
        transactions.first { $0.transactionID == sent.transactionID }
            ?? transactions.first { !sent.isSubscription && !sent.isConsumable && $0.isOfSameItem(as: sent) } ?? sent
    }
}

extension Transaction {
    fileprivate func isOfSameItem(as other: Transaction) -> Bool {
        chainID == other.chainID && productID == other.productID
    }
}
