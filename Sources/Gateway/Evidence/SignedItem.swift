// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// One verified item that Apple signed. Values that this kind of item does not sign are nil.
public enum SignedItem: Sendable {
    /// An app receipt.
    case appReceipt(VerifiedReceipt)
}

extension SignedItem {
    /// The app receipt; nil for other kinds of items.
    public var receipt: VerifiedReceipt? {
        switch self {
        case .appReceipt(let receipt): receipt
        }
    }

    /// The app that it was signed for.
    public var bundleID: String? {
        switch self {
        case .appReceipt(let receipt): receipt.bundleID
        }
    }

    /// The environment that it was signed in.
    public var environment: Environment? {
        switch self {
        case .appReceipt(let receipt): receipt.environment
        }
    }

    /// The time of signing.
    public var signingTime: Timestamp? {
        switch self {
        case .appReceipt(let receipt): receipt.creationDate
        }
    }

    /// SHA-256 of the signed content: the same for every encoding of the item.
    public var identity: Fingerprint {
        switch self {
        case .appReceipt(let receipt): Fingerprint(of: receipt.signedContent)
        }
    }

    /// The item's transactions.
    public var transactions: [Transaction] {
        switch self {
        case .appReceipt(let receipt): receipt.purchases.map { Transaction($0) }
        }
    }

    /// Apple's plans for the item's subscriptions.
    public var renewals: [Renewal] {
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
