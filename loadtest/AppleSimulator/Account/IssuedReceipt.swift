// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A receipt before it is signed: the latest receipt of an account, of the kind that was sent, or a recorded answer's
/// receipt.
enum IssuedReceipt: Sendable {
    case app(ReceiptContents)
    case transaction(TransactionReceiptContents)

    init(_ account: SimulatedAccount, for sent: GenuineReceipt, at date: UTCDate) {
        if sent.transaction != nil, let latest = account.recorded?.ios6?.latest {
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

    var ofOtherApp: IssuedReceipt {
        switch self {
        case .app(var contents):
            contents.bundleID = ServerFault.Tampering.bundleID
            return .app(contents)
        case .transaction(var contents):
            contents.bundleID = ServerFault.Tampering.bundleID
            return .transaction(contents)
        }
    }

    /// A receipt from before the sent receipt. A transaction receipt has no such date: the sent receipt is returned.
    func older(than sent: GenuineReceipt) -> IssuedReceipt {
        switch self {
        case .app(var contents):
            contents.creationDate = sent.contents.creationDate.advanced(byDays: -1)
            return .app(contents)
        case .transaction(let contents): return .transaction(sent.transaction ?? contents)
        }
    }
}
