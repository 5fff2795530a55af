// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Transactions as values, or the purchases of a receipt, which become transactions on access. Most receipts are evaluated
/// and written once, and need no values.
package struct TransactionList: RandomAccessCollection, Sendable {
    private enum Storage: Sendable {
        case values([Transaction])
        case purchases(InAppPurchases)
    }

    private let storage: Storage

    package init(_ transactions: [Transaction]) { storage = .values(transactions) }

    init(_ purchases: InAppPurchases) { storage = .purchases(purchases) }

    package var startIndex: Int { 0 }

    package var endIndex: Int {
        switch storage {
        case .values(let transactions): transactions.count
        case .purchases(let purchases): purchases.count
        }
    }

    package subscript(index: Int) -> Transaction {
        switch storage {
        case .values(let transactions): transactions[index]
        case .purchases(let purchases): Transaction(purchases[index])
        }
    }

    /// The purchases of a receipt; nil for values.
    var purchases: InAppPurchases? { if case .purchases(let purchases) = storage { purchases } else { nil } }

    package var values: [Transaction] {
        switch storage {
        case .values(let transactions): transactions
        case .purchases(let purchases): purchases.map { Transaction($0) }
        }
    }

    /// Returns a transaction's ID without the transaction.
    func transactionID(at index: Int) -> String {
        switch storage {
        case .values(let transactions): transactions[index].transactionID
        case .purchases(let purchases): purchases[index].transactionID
        }
    }
}
