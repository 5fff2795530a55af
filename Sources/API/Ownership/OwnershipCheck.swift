// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Customers
package import Gateway
package import Receipts

/// The check of an account against the purchases of an answer, for immediate and deferred verifications.
package struct OwnershipCheck: Sendable {
    private let store: any OwnershipStore
    private let observe: OwnershipObserver
    private let reports: SuspicionReports

    /// - Parameter onEvents: called after an event was written.
    package init(
        _ store: any OwnershipStore, rules: OwnershipRules, observe: @escaping OwnershipObserver,
        onEvents: @escaping @Sendable (AppPartition) -> Void, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.observe) = (store, observe)
        reports = SuspicionReports(store, rules: rules, clock: clock) { partition in
            observe(.fraudSuspected)
            onEvents(partition)
        }
    }

    /// Records the use of purchases by an account of a client, and decides on it. Purchases without a binding are bound to
    /// the account. If the store is unreachable, nothing is rejected.
    /// - Parameter claims: the `Answer.ownershipClaims`; without claims the ownership is unknown.
    package func ownership(
        of claims: [OwnershipClaim], account: Account, client: Client
    ) async -> OwnershipDecision {
        let uses = claims.isEmpty ? [] : await store.record(account, using: claims.map(\.chain))
        let decision = OwnershipDecision(claims, of: account, uses, under: client.ownership)
        observe(.checked(decision.ownership))
        if decision.isRejected { observe(.rejected) }
        reports.begin(SuspiciousUse.all(of: claims, uses ?? []))
        return decision
    }
}
