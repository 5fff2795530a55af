// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A receipt before it is signed: the latest one of an account, of the kind that was sent, or that of a recorded answer.
enum IssuedReceipt: Sendable {
    case app(ReceiptContents)
    case transaction(TransactionReceiptContents)

    init(_ account: Account, for sent: GenuineReceipt, at date: UTCDate) {
        if sent.transaction != nil, let latest = account.recordedIOS6?.latest {
            self = .transaction(latest)
        } else if let transaction = sent.transaction, let newest = account.subscriptions.first?.newest.purchase {
            self = .transaction(transaction.with(newest))
        } else {
            self = .app(account.receipt(issuedAt: date))
        }
    }

    func base64(signedBy pki: ForgedPKI) -> String {
        switch self {
        case .app(let contents): ForgedEvidence.der(pki.signAtCreation(contents)).base64
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
