// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The signed facts that tie a customer's history to evidence whose transaction ID the history does not have: copies of a
/// purchase have IDs of their own.
package struct PurchaseTies: Hashable, Sendable {
    /// The customer's downloads of the app (`appTransactionId`).
    private let appTransactionIDs: Set<String>
    private let periods: Set<PurchasedPeriod>

    /// - Parameter transactions: those that Apple signed in the evidence.
    package init(_ transactions: [Transaction]) {
        appTransactionIDs = Set(transactions.compactMap { $0.signedFields?.value.appTransactionID })
        periods = Set(transactions.compactMap(PurchasedPeriod.init(of:)))
    }

    /// Returns true for a transaction of the same customer.
    package func connects(to transaction: Transaction) -> Bool {
        transaction.signedFields?.value.appTransactionID.map(appTransactionIDs.contains) ?? false
            || PurchasedPeriod(of: transaction).map(periods.contains) ?? false
    }
}
