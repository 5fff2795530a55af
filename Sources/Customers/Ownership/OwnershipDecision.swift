// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import JSON

/// The consequence of a purchase that is bound to another account. The raw values appear in the clients file.
package enum OwnershipPolicy: String, CaseIterable, Hashable, Sendable {
    /// The answer says so.
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
    /// An answer was checked for an account.
    case checked(Ownership)
    /// An answer was rejected because a purchase is bound to another account.
    case rejected
    /// `fraud.suspected` was written to the log.
    case fraudSuspected
}

/// Observes the check of ownership.
package typealias OwnershipObserver = @Sendable (OwnershipEvent) -> Void
