// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// The latest receipt of an account before it is signed, of the kind that was sent.
enum IssuedReceipt: Sendable {
    case app(ReceiptContents)
    case transaction(TransactionReceiptContents)

    init(_ account: Account, for sent: GenuineReceipt, at date: UTCDate) {
        if let transaction = sent.transaction, let newest = account.subscriptions.first?.newest.purchase {
            self = .transaction(transaction.with(newest))
        } else {
            self = .app(account.receipt(issuedAt: date))
        }
    }

    func base64(signedBy pki: ForgedPKI) -> String {
        switch self {
        case .app(let contents): ForgedEvidence.der(pki.sign(contents)).base64
        case .transaction(let contents): ForgedEvidence.der(pki.sign(contents)).base64
        }
    }

    /// The same receipt of another app.
    var ofOtherApp: IssuedReceipt {
        switch self {
        case .app(var contents):
            contents.bundleID = "com.example.other"
            return .app(contents)
        case .transaction(var contents):
            contents.bundleID = "com.example.other"
            return .transaction(contents)
        }
    }

    /// A receipt from before the one that was sent. A transaction receipt has no such date: it is the one sent.
    func older(than sent: GenuineReceipt) -> IssuedReceipt {
        switch self {
        case .app(var contents):
            contents.creationDate = sent.contents.creationDate.advanced(byDays: -1)
            return .app(contents)
        case .transaction(let contents): return .transaction(sent.transaction ?? contents)
        }
    }
}
