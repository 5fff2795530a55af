// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import Receipts

extension OwnershipClaim {
    package enum Limits {
        /// The purchases of one answer that are checked, the newest.
        package static let claims = 256
    }
}

extension Answer {
    /// The purchases of a genuine answer that can be bound to an account, the newest first. Purchases that Apple did
    /// not sign belong to no customer. An ID that is empty or of another form than Apple's may belong to several
    /// customers.
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
