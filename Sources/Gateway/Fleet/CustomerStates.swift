// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// All transactions of one app and environment with the same original transaction ID.
package struct PurchaseChain: Hashable, Sendable {
    package let bundleID: String
    package let environment: Environment
    package let originalTransactionID: String

    package init(bundleID: String, environment: Environment, originalTransactionID: String) {
        self.bundleID = bundleID
        self.environment = environment
        self.originalTransactionID = originalTransactionID
    }
}

/// The newest signed state of a chain, as far as Apple has reported it by server notifications.
package struct CustomerState: Hashable, Sendable {
    /// The transactions that notifications were about, each in its newest signed state.
    package var transactions: [Transaction]
    /// The newest signed plan, if any. A list, because Apple may rename a chain.
    package var renewals: [Renewal]

    package init(transactions: [Transaction] = [], renewals: [Renewal] = []) {
        self.transactions = transactions
        self.renewals = renewals
    }

    /// The bytes in memory, estimated.
    package var byteCount: Int { transactions.byteCount + renewals.byteCount }

    /// The time up to which the state is known: the newest signing time. Nil for an empty state.
    package var signedDate: Timestamp? {
        (transactions.compactMap(\.signedDate) + renewals.compactMap(\.signedDate)).max()
    }
}

/// The customer states that notifications have left, for verifications.
package protocol CustomerStates: Sendable {
    /// Returns the known states of these chains; nil if the store is unreachable.
    func states(of chains: [PurchaseChain]) async -> [CustomerState]?
}
