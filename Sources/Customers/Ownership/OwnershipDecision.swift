// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import JSON

/// The consequence of a purchase that is bound to another account. The raw values appear in the clients file.
package enum OwnershipPolicy: String, CaseIterable, Hashable, Sendable {
    case report
    /// The answer is rejected, unless the family shares the purchase.
    case reject
}

/// The relation of an account to the purchases of an answer, and its consequence.
package struct OwnershipDecision: Hashable, Sendable {
    package let ownership: Ownership
    /// True if the verdict is `rejected` with the reason `other_account`.
    package let isRejected: Bool

    /// - Parameter uses: the use of each claim, in order; nil if the store is unreachable.
    package init(_ claims: [OwnershipClaim], of account: Account, _ uses: [RecordedUse]?, under policy: OwnershipPolicy)
    {
        let each = claims.indices.map { index in
            claims[index].ownership(of: account, uses.flatMap { $0.indices.contains(index) ? $0[index].binding : nil })
        }
        ownership = Self.weakestFirst.first(where: each.contains) ?? .unknown
        let hasForeign = zip(claims, each).contains { claim, ownership in ownership == .other && !claim.isFamilyShared }
        isRejected = policy == .reject && hasForeign
    }

    /// The order in which a claim's ownership decides for the answer: the first value that any claim has counts.
    private static let weakestFirst: [Ownership] = [.other, .unknown, .firstSeen, .same]
}

extension OwnershipClaim {
    /// Returns the relation of an account to this purchase.
    /// - Parameter binding: nil if the store is unreachable.
    package func ownership(of account: Account, _ binding: RecordedUse.Binding?) -> Ownership {
        if names(account) { return .same }
        return switch binding {
        case .new: .firstSeen
        case .same: .same
        case .other: .other
        case .unknown, nil: .unknown
        }
    }

    /// True if the signed token is the account. Apple's tokens are UUIDs, in upper or lower case.
    private func names(_ account: Account) -> Bool {
        guard let token = appAccountToken.flatMap({ ASCII.bytes(uuid: $0.utf8Span.span) }) else { return false }
        let id = account.id
        return token == ASCII.bytes(uuid: id.utf8Span.span)
    }
}

/// An event in the check of ownership, for metrics.
package enum OwnershipEvent: Hashable, Sendable {
    case checked(Ownership)
    /// An answer was rejected because a purchase is bound to another account.
    case rejected
    /// `fraud.suspected` was written to the log.
    case fraudSuspected
}

package typealias OwnershipObserver = @Sendable (OwnershipEvent) -> Void

/// The use of a purchase by an account, as the store has it.
package struct RecordedUse: Hashable, Sendable {
    package enum Binding: String, Hashable, Sendable {
        /// The chain was unbound, and is bound to the account now.
        case new
        case same
        case other
        /// The store could not read this chain's binding.
        case unknown
    }

    package var binding: Binding
    /// The accounts within the window, if more than permitted and not reported in this window yet; else nil.
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

    /// Writes an event about a suspicious use, unless one was written for the chain in this window; returns true if so.
    func report(_ event: Event, about chain: PurchaseChain) async throws(StoreUnreachable) -> Bool

    /// Binds a chain to an account, whatever it was bound to.
    func transfer(_ chain: PurchaseChain, to account: Account) async throws(StoreUnreachable)

    /// Deletes the binding of a chain, and the accounts seen with it; returns false if there was none.
    func forget(_ chain: PurchaseChain) async throws(StoreUnreachable) -> Bool

    /// Returns the chains of an app that an account was seen with and that are bound to it, or to no account, whose
    /// data is deleted with the account; none whose binding cannot be read.
    func chains(of account: Account, in bundleID: String) async throws(StoreUnreachable) -> Set<PurchaseChain>
}
