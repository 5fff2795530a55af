// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// One verified item that Apple signed. Values that this kind of item does not sign are nil.
package enum SignedItem: Sendable {
    case appReceipt(VerifiedReceipt)
}

extension SignedItem {
    package var receipt: VerifiedReceipt? {
        switch self {
        case .appReceipt(let receipt): receipt
        }
    }

    package var bundleID: String? {
        switch self {
        case .appReceipt(let receipt): receipt.bundleID
        }
    }

    package var environment: Environment? {
        switch self {
        case .appReceipt(let receipt): receipt.environment
        }
    }

    package var signingTime: Timestamp? {
        switch self {
        case .appReceipt(let receipt): receipt.creationDate
        }
    }

    /// SHA-256 of the signed content: the same for every encoding of the item.
    package var identity: Fingerprint {
        switch self {
        case .appReceipt(let receipt): Fingerprint(of: receipt.signedContent)
        }
    }

    package var transactions: [Transaction] {
        switch self {
        case .appReceipt(let receipt): receipt.purchases.map { Transaction($0) }
        }
    }

    package var renewals: [Renewal] {
        switch self {
        case .appReceipt: []
        }
    }

    var byteCount: Int {
        switch self {
        case .appReceipt(let receipt): receipt.byteCount
        }
    }
}
