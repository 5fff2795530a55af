// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// The answer to a genuine receipt.
struct GenuineAnswer {
    /// The difference between an answer and the correct one.
    struct Deviation: Hashable, Sendable {
        /// A status, and its additional members, in place of the correct one.
        var status: ServerFault.ReceiptStatus?
        /// A manipulation of the answer.
        var tampering: ServerFault.Tampering?
        /// True if the answer names the other environment.
        var hasWrongEnvironment = false
        /// The replacement of the `latest_receipt`.
        var latestReceipt: ServerFault.LatestReceipt?
    }

    let receipt: GenuineReceipt
    let account: Account
    /// Signed again, in base64; nil for receipts without subscriptions.
    let latestReceipt: String?
    let excludesOldTransactions: Bool
    let deviation: Deviation
    /// Determines the order of lists: Apple's have none.
    let seed: UInt64
    let now: UTCDate

    func rendered() -> RenderedAnswer {
        if account.isIOS6Style, let subscription = account.subscriptions.first, let latestReceipt {
            return render(
                IOS6Answer(
                    receipt: tampered(receipt.contents), subscription: subscription, now: now,
                    latestReceipt: latestReceipt))
        }
        var json = JSONText()
        var placeOfRequestDate: Int?
        json.object { answer in
            writeStatus(0, to: &answer)
            answer.member("environment", environment.rawValue)
            answer.object("receipt") { placeOfRequestDate = $0.receiptMembers(tampered(receipt.contents)) }
            if let latestReceipt { writeLatest(latestReceipt, to: &answer) }
        }
        return RenderedAnswer(status: deviation.status?.status ?? 0, json, placeOfRequestDate: placeOfRequestDate)
    }

    private func render(_ answer: IOS6Answer) -> RenderedAnswer {
        var json = JSONText()
        json.object { members in
            writeStatus(answer.status, to: &members)
            answer.write(to: &members)
        }
        return RenderedAnswer(
            status: deviation.status?.status ?? answer.status, json, placeOfRequestDate: nil)
    }

    private func writeStatus(_ status: Int, to json: inout JSONText) {
        json.member("status", deviation.status?.status ?? status)
        if let retryable = deviation.status?.retryable { json.member(retryable.name, literal: retryable.literal) }
    }

    private func writeLatest(_ latestReceipt: String, to json: inout JSONText) {
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
        guard deviation.hasWrongEnvironment else { return receipt.environment }
        return receipt.environment == .production ? .sandbox : .production
    }
}

extension GenuineAnswer {
    private func tampered(_ contents: ReceiptContents) -> ReceiptContents {
        var contents = contents
        if deviation.tampering == .otherBundleID { contents.bundleID = "com.example.other" }
        contents.purchases = contents.purchases.map { tampered(Transaction($0)).purchase }
        return contents
    }

    private func tampered(_ transaction: Transaction) -> Transaction {
        guard deviation.tampering == .expires2099, transaction.purchase.isSubscription else { return transaction }
        var transaction = transaction
        transaction.purchase.expiresDate = UTCDate(2099, 12, 31, 23, 59, 59)
        return transaction
    }
}
