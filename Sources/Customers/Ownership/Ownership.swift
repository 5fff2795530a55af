// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway

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

/// A purchase that an account presents.
package struct OwnershipClaim: Hashable, Sendable {
    package let chain: PurchaseChain
    /// The `appAccountToken` of the newest transaction of the chain that has a token.
    package var appAccountToken: String?
    /// True if the purchase is another customer's, shared in the family (`FAMILY_SHARED`).
    package var isFamilyShared: Bool

    package init(_ chain: PurchaseChain, appAccountToken: String? = nil, isFamilyShared: Bool = false) {
        (self.chain, self.appAccountToken, self.isFamilyShared) = (chain, appAccountToken, isFamilyShared)
    }
}

/// The settings of bindings.
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
