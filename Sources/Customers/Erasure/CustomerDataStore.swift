// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway

/// A customer whose data is deleted: one purchase or several, and the account they were used by.
package struct ErasureSubject: Hashable, Sendable {
    package enum Limits {
        /// The original transaction IDs of a request, and the IDs of an account.
        package static let chains = 1000
    }

    package let bundleID: String
    /// The purchases, in every environment in which they may exist.
    package var chains: Set<PurchaseChain>
    /// The account whose traces are removed from all chains, also from those that are bound to another account.
    package var account: Account?

    package init(bundleID: String, chains: Set<PurchaseChain>, account: Account? = nil) {
        (self.bundleID, self.chains, self.account) = (bundleID, chains, account)
    }
}

/// The kinds of stored data about customers. The raw values appear in the API and in metrics.
package enum CustomerData: String, CaseIterable, Hashable, Sendable {
    /// The accounts that a purchase is bound to, or was used by.
    case ownership
    /// The newest signed states.
    case customerStates = "customer_states"
    case events
    /// Notifications in the log for endpoints that receive them unchanged.
    case relayedNotifications = "relayed_notifications"
    /// Deliveries of webhooks that wait or failed for good.
    case deliveries
    /// Notifications that are not applied yet.
    case pendingNotifications = "pending_notifications"
    /// Notifications that cannot be applied.
    case deadLetters = "dead_letters"
    /// Deferred verifications: their evidence and their verdicts.
    case verifications
    /// Cached results of requests to Apple.
    case cachedResults = "cached_results"
}

/// The number of entries that were deleted, by kind; a kind without entries is absent.
package typealias ErasureCount = [CustomerData: Int]

/// A store with data about customers.
package protocol CustomerDataStore: Sendable {
    /// Deletes everything about a customer. It may be repeated.
    /// - Throws: if the store is unreachable; a part may be deleted then.
    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount
}
