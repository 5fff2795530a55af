// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway

/// The use of a purchase by an account, as the store has it.
package struct RecordedUse: Hashable, Sendable {
    package enum Binding: Hashable, Sendable {
        /// The chain was unbound, and is bound to the account now.
        case new
        case same
        case other
        /// The store could not read this chain's binding.
        case unknown
    }

    package var binding: Binding
    /// The number of accounts that used the chain within the window, if they are more than permitted and that was not
    /// reported in this window yet; else nil.
    package var suspiciousAccounts: Int?

    package init(_ binding: Binding, suspiciousAccounts: Int? = nil) {
        (self.binding, self.suspiciousAccounts) = (binding, suspiciousAccounts)
    }
}

/// The accounts that purchases are bound to. Entries do not expire in the store: their age is held beside them.
package protocol OwnershipStore: CustomerDataStore {
    /// Binds each unbound chain to the account, and records its use. Each is one atomic step.
    /// - Returns: a use for each chain, in order; nil if the store is unreachable.
    func record(_ account: Account, using chains: [PurchaseChain]) async -> [RecordedUse]?

    /// Writes an event about a suspicious use to the log, unless an event was written for the chain in this window.
    /// - Returns: true if it was written.
    func report(_ event: Event, about chain: PurchaseChain) async throws(StoreUnreachable) -> Bool

    /// Binds a chain to an account, whatever it was bound to.
    func transfer(_ chain: PurchaseChain, to account: Account) async throws(StoreUnreachable)

    /// Deletes the binding of a chain, and the accounts seen with it.
    /// - Returns: false if there was none.
    func forget(_ chain: PurchaseChain) async throws(StoreUnreachable) -> Bool

    /// Returns the chains of an app that an account was seen with and that are bound to it, or to no account:
    /// `ErasureSubject.Limits.chains` at most. Their data is deleted with the account. Chains that are bound to another
    /// account are left out, and so are chains whose binding cannot be read.
    func chains(of account: Account, in bundleID: String) async throws(StoreUnreachable) -> Set<PurchaseChain>
}
