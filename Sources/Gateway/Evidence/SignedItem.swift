// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// One item that Apple signed, after its verification. A kind of item need not sign everything: what it does not sign is
/// nil.
public enum SignedItem: Sendable {
    /// An app receipt.
    case appReceipt(VerifiedReceipt)
}

extension SignedItem {
    /// The receipt, if the item is one.
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

    /// The time of the signature.
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

    /// The transactions in it.
    public var transactions: [Transaction] {
        switch self {
        case .appReceipt(let receipt): receipt.purchases.map { Transaction($0) }
        }
    }

    /// Apple's plans for subscriptions in it.
    public var renewals: [Renewal] {
        switch self {
        case .appReceipt: []
        }
    }

    /// The bytes that it takes in memory.
    var byteCount: Int {
        switch self {
        case .appReceipt(let receipt): receipt.byteCount
        }
    }
}
