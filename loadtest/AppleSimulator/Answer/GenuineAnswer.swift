// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts

/// The answer to a genuine receipt, without the date of the request: it is kept, and sent many times.
struct GenuineAnswer: Sendable {
    let receipt: GenuineReceipt
    let account: Account
    /// Signed again, in base64; nil for receipts without subscriptions.
    var latestReceipt: String?
    let excludesOldTransactions: Bool
    /// Determines the order of lists: Apple's have none.
    let seed: UInt64
    let issuedAt: UTCDate
    /// Changes the answer if it is a fault of this answer's kind.
    var fault: ServerFault?

    func rendered(requestedAt now: Timestamp) -> StoreAnswer {
        if account.isIOS6Style, let subscription = account.subscriptions.first, let latestReceipt {
            let answer = IOS6Answer(
                receipt: tampered(receipt.contents), subscription: subscription, now: issuedAt,
                latestReceipt: latestReceipt)
            return rendered(status: answer.status, answer.write)
        }
        return rendered(status: 0) { json in
            json.member("environment", environment.rawValue)
            json.object("receipt") { $0.receiptMembers(tampered(receipt.contents), requestedAt: now) }
            if let latestReceipt { writeLatest(latestReceipt, to: &json) }
        }
    }

    private func rendered(status: Int, _ writeMembers: (inout JSONWriter) -> Void) -> StoreAnswer {
        guard case .receiptStatus(let other) = fault else { return StoreAnswer(status: status, writeMembers) }
        return StoreAnswer(status: other.status, retryable: other.retryable, writeMembers)
    }

    private func writeLatest(_ latestReceipt: String, to json: inout JSONWriter) {
        var generator = SplitMix64(seed: seed, purpose: receipt.contents.bundleID)
        let transactions = account.transactions(excludingOld: excludesOldTransactions).shuffled(using: &generator)
        json.array("latest_receipt_info") { list in
            for transaction in transactions { list.object { $0.members(of: tampered(transaction)) } }
        }
        json.member("latest_receipt", latestReceipt)
        json.array("pending_renewal_info") { list in
            let renewals = account.subscriptions.flatMap { subscription in
                subscription.renewals.map { (renewal: $0, subscription: subscription) }
            }
            for (renewal, subscription) in renewals.shuffled(using: &generator) {
                list.object { $0.members(of: renewal, in: subscription) }
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
        contents.purchases = contents.purchases.map { tampered(Transaction($0)).purchase }
        return contents
    }

    private func tampered(_ transaction: Transaction) -> Transaction {
        guard fault == .tampered(.expires2099), transaction.purchase.isSubscription else { return transaction }
        var transaction = transaction
        transaction.purchase.expiresDate = UTCDate(2099, 12, 31, 23, 59, 59)
        return transaction
    }
}

extension GenuineAnswer {
    /// Another authority, created on first use: finding primes takes a while.
    private static let stranger = ForgedPKI(seed: 0x57A6)

    /// Returns a `latest_receipt` in place of the correct one; nil for none.
    func latestReceipt(_ replacement: ServerFault.LatestReceipt, signedBy pki: ForgedPKI) -> String? {
        var contents = account.receipt(issuedAt: issuedAt)
        switch replacement {
        case .brokenBase64: return latestReceipt.map { String($0.dropLast()) }
        case .missing: return nil
        case .junk: return "MIMB" + String(repeating: "QUJD", count: 5_000_000 / 3)
        case .signedByStranger: return ForgedEvidence.der(Self.stranger.sign(contents)).base64
        case .ofOtherApp: contents.bundleID = "com.example.other"
        case .older: contents.creationDate = receipt.contents.creationDate.advanced(byDays: -1)
        }
        return ForgedEvidence.der(pki.sign(contents)).base64
    }
}
