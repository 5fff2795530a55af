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
        transactions.first { $0.transactionID == sent.transactionID } ?? transactions.first(where: sent.isCopy) ?? sent
    }
}

extension Transaction {
    /// Returns true if both are copies of one period, or of one item that is not used up.
    fileprivate func isCopy(of other: Transaction) -> Bool {
        if let period = PurchasedPeriod(of: self) { return PurchasedPeriod(of: other) == period }
        return !isSubscription && !isConsumable && chainID == other.chainID && productID == other.productID
    }
}
