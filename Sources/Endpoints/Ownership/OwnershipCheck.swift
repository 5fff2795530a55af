// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Events
package import Gateway
package import Ownership
package import Receipts
package import Settings

/// The check of an account against the purchases of an answer, for verifications and deferred ones.
package struct OwnershipCheck: Sendable {
    private let store: any OwnershipStore
    private let rules: OwnershipRules
    private let observer: any OwnershipObserver
    private let clock: @Sendable () -> Timestamp

    package init(
        _ store: any OwnershipStore, rules: OwnershipRules, observer: any OwnershipObserver,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.rules, self.observer, self.clock) = (store, rules, observer, clock)
    }

    /// Records the use of purchases by an account of a client, and decides on it. Purchases without a binding are bound to
    /// the account. If the store is unreachable, nothing is rejected.
    /// - Parameter claims: those of `Answer.ownershipClaims`; without any the ownership is unknown.
    package func ownership(
        of claims: [OwnershipClaim], account: Account, client: Client
    ) async -> OwnershipDecision {
        let uses = claims.isEmpty ? [] : await store.record(account, using: claims.map(\.chain))
        let decision = OwnershipDecision(claims, of: account, uses, under: client.ownership)
        observer.observe(.checked(decision.ownership))
        if decision.isRejected { observer.observe(.rejected) }
        for (claim, use) in zip(claims, uses ?? []) {
            if let accounts = use.suspiciousAccounts { await report(accounts, using: claim) }
        }
        return decision
    }

    /// Writes an event about a suspicious use. If the store does not answer, the next use is reported.
    private func report(_ accounts: Int, using claim: OwnershipClaim) async {
        let event = Event(suspecting: claim, usedBy: accounts, within: rules.window, at: clock())
        if (try? await store.report(event, about: claim.chain)) == true { observer.observe(.fraudSuspected) }
    }
}
