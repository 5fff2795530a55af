// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import JSON
package import Receipts

/// The relation of an account to the purchases of an answer. The raw values appear in the API.
package enum Ownership: String, CaseIterable, Hashable, Sendable {
    /// No account was seen with the purchase before; it is bound to this account now.
    case firstSeen = "first_seen"
    /// The purchase is bound to this account, or its signed token names it.
    case same
    /// A purchase is bound to another account.
    case other
    /// The store did not answer, or the answer has no purchase.
    case unknown
}

package struct OwnershipClaim: Hashable, Sendable {
    package enum Limits {
        /// The purchases of one answer that are checked, the newest.
        package static let claims = 256
    }

    package let chain: PurchaseChain
    /// The `appAccountToken` of the newest transaction of the chain that has a token.
    package var appAccountToken: String?
    /// True if the purchase is another customer's, shared in the family (`FAMILY_SHARED`).
    package var isFamilyShared: Bool

    package init(_ chain: PurchaseChain, appAccountToken: String? = nil, isFamilyShared: Bool = false) {
        (self.chain, self.appAccountToken, self.isFamilyShared) = (chain, appAccountToken, isFamilyShared)
    }
}

package struct OwnershipRules: Hashable, Sendable {
    package enum Limits {
        /// The accounts that are remembered for one purchase, the latest.
        package static let accounts = 64
    }

    /// The time after its last use at which a binding is forgotten.
    package var retention: Duration = .seconds(730 * 86_400)
    /// The accounts that may use one purchase within the window; one more account is suspicious.
    package var maximumAccounts = 3
    package var window: Duration = .seconds(30 * 86_400)

    package init() {}
}

extension Answer {
    /// The purchases of a genuine answer that can be bound to an account, the newest first. Without a signature of
    /// Apple's, or with an ID of another form than Apple's, a purchase may belong to several customers.
    package var ownershipClaims: [OwnershipClaim] {
        guard verdict == .genuine, let bundleID = subject?.bundleID, let environment, environment.isApples else {
            return []
        }
        let transactions = transactions.values, byChain = Dictionary(grouping: transactions, by: \.chainID)
        return transactions.chainsByAge.filter(\.isTransactionID).prefix(OwnershipClaim.Limits.claims).map { id in
            let chain = byChain[id] ?? []
            return OwnershipClaim(
                PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: id),
                appAccountToken: chain.filter { $0.appAccountToken != nil }.newest?.appAccountToken,
                isFamilyShared: chain.filter { $0.ownership != nil }.newest?.ownership == .familyShared)
        }
    }
}

extension Event {
    /// Creates the event about a purchase that many accounts use. It has their number, and none of their IDs.
    package init(suspecting claim: OwnershipClaim, usedBy accounts: Int, within window: Duration, at now: Timestamp) {
        let chain = claim.chain
        let key = [chain.originalTransactionID, String(now.millisecondsSince1970)]
        self.init(
            .fraudSuspected,
            id: Event.id("fraud", bundleID: chain.bundleID, chain.environment, cause: key), of: EventScope(chain),
            at: now, EventCause(source: .verification, signedDate: now)
        ) { json in
            if claim.isFamilyShared {
                json.member("in_app_ownership_type", Transaction.Ownership.familyShared.rawValue)
            }
            json.member("account_count", accounts)
            json.member("window_seconds", window.components.seconds)
        }
    }
}
