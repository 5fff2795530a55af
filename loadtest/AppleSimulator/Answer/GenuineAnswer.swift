// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts

/// The answer to a genuine receipt, without the date of the request: it is kept, and sent many times.
struct GenuineAnswer: Sendable {
    let receipt: GenuineReceipt
    let account: SimulatedAccount
    /// Signed again, in base64; nil for receipts without subscriptions.
    var latestReceipt: String?
    let excludesOldTransactions: Bool
    /// Determines the order of lists: Apple's have none.
    let seed: UInt64
    let issuedAt: UTCDate
    /// Changes the answer if it is a fault of this answer's kind.
    var fault: ServerFault?

    func rendered(requestedAt now: Timestamp) -> StoreAnswer {
        if let sent = sentTransaction {
            let answer = IOS6Answer(
                sent: tampered(sent), latest: latest(after: sent), now: issuedAt, latestReceipt: latestReceipt,
                isRecordedAsOver: account.recordedIOS6?.isOver)
            return rendered(status: answer.status, answer.write)
        }
        return rendered(status: 0) { json in
            json.member("environment", environment.rawValue)
            json.object("receipt") { $0.receiptMembers(tampered(receipt.contents), of: account, requestedAt: now) }
            if let latestReceipt { writeLatest(latestReceipt, to: &json) }
        }
    }

    /// The purchase to answer about in the style of iOS 6, as Apple knows it: a transaction receipt's purchase, or the
    /// last period in an app receipt whose story says so.
    private var sentTransaction: TransactionReceiptContents? {
        if let transaction = receipt.transaction {
            guard account.recordedIOS6 == nil else { return transaction }
            return account.purchase(transaction.transactionID).map(transaction.with) ?? transaction
        }
        guard account.isIOS6Style, let subscription = account.subscriptions.first else { return nil }
        let newest = subscription.newest.purchase
        let sent = receipt.contents.purchases.last { $0.originalTransactionID == newest.originalTransactionID }
        return TransactionReceiptContents(sent ?? newest, in: receipt.contents)
    }

    private func latest(
        after sent: TransactionReceiptContents
    ) -> (period: TransactionReceiptContents, renewal: SimulatedRenewal?)? {
        if let recorded = account.recordedIOS6 {
            return recorded.latest.map { (tampered($0), account.renewals?.first) }
        }
        return account.subscriptions.first.map { (tampered(sent.with($0.newest.purchase)), $0.renewal) }
    }

    private func rendered(status: Int, _ writeMembers: (inout JSONWriter) -> Void) -> StoreAnswer {
        guard case .receiptStatus(let other) = fault else { return StoreAnswer(status: status, writeMembers) }
        return StoreAnswer(status: other.status, retryable: other.retryable, writeMembers)
    }

    private func writeLatest(_ latestReceipt: String, to json: inout JSONWriter) {
        var generator = SplitMix64(seed: seed, purpose: receipt.contents.bundleID)
        if let transactions = account.listed(excludingOld: excludesOldTransactions)?.shuffled(using: &generator) {
            json.array("latest_receipt_info") { list in
                for transaction in transactions { list.object { $0.members(of: tampered(transaction)) } }
            }
        }
        json.member("latest_receipt", latestReceipt)
        if let renewals = account.renewals?.shuffled(using: &generator) {
            json.array("pending_renewal_info") { list in
                for renewal in renewals { list.object { $0.members(of: renewal) } }
            }
        }
    }

    private var environment: Environment {
        guard fault == .wrongEnvironment else { return receipt.environment }
        return receipt.environment == .production ? .sandbox : .production
    }
}

extension GenuineAnswer {
    private func tampered(_ contents: ReceiptContents) -> ReceiptContents {
        var contents = contents
        if fault == .tampered(.otherBundleID) { contents.bundleID = "com.example.other" }
        contents.purchases = contents.purchases.map { tampered(SimulatedTransaction($0)).purchase }
        return contents
    }

    private func tampered(_ transaction: SimulatedTransaction) -> SimulatedTransaction {
        guard fault == .tampered(.expires2099), transaction.purchase.isSubscription else { return transaction }
        var transaction = transaction
        transaction.purchase.expiresDate = Self.tamperedEnd
        return transaction
    }

    private func tampered(_ transaction: TransactionReceiptContents) -> TransactionReceiptContents {
        var transaction = transaction
        if fault == .tampered(.otherBundleID) { transaction.bundleID = "com.example.other" }
        if fault == .tampered(.expires2099), transaction.expiresDate != nil {
            transaction.expiresDate = Self.tamperedEnd
        }
        return transaction
    }

    private static let tamperedEnd = UTCDate(2099, 12, 31, 23, 59, 59)
}

extension GenuineAnswer {
    /// Another authority, created on first use: finding primes takes a while.
    private static let stranger = ForgedPKI(seed: 0x57A6)

    /// Returns a `latest_receipt` in place of the correct receipt; nil for none.
    func latestReceipt(_ replacement: ServerFault.LatestReceipt, signedBy pki: ForgedPKI) -> String? {
        let issued = IssuedReceipt(account, for: receipt, at: issuedAt)
        switch replacement {
        case .brokenBase64: return latestReceipt.map { String($0.dropLast()) }
        case .missing: return nil
        case .junk: return "MIMB" + String(repeating: "QUJD", count: 5_000_000 / 3)
        case .signedByStranger: return issued.base64(signedBy: Self.stranger)
        case .ofOtherApp: return issued.ofOtherApp.base64(signedBy: pki)
        case .older: return issued.older(than: receipt).base64(signedBy: pki)
        }
    }
}
