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
                isRecordedAsOver: account.recorded?.ios6?.isOver)
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
            guard account.recorded?.ios6 == nil else { return transaction }
            let known = account.transactions(excludingOld: false).map(\.purchase)
            return known.first { $0.transactionID == transaction.transactionID }.map(transaction.with) ?? transaction
        }
        guard account.isIOS6Style, let subscription = account.subscriptions.first else { return nil }
        let newest = subscription.newest.purchase
        let sent = receipt.contents.purchases.last { $0.originalTransactionID == newest.originalTransactionID }
        return TransactionReceiptContents(sent ?? newest, in: receipt.contents)
    }

    private func latest(
        after sent: TransactionReceiptContents
    ) -> (period: TransactionReceiptContents, renewal: SimulatedRenewal?)? {
        if let recorded = account.recorded?.ios6 {
            return recorded.latest.map { (tampered($0), account.renewals?.first) }
        }
        return account.subscriptions.first.map { (tampered(sent.with($0.newest.purchase)), $0.renewal) }
    }

    private func rendered(status: Int, _ writeMembers: (inout JSONWriter) -> Void) -> StoreAnswer {
        guard case .receiptStatus(let other) = fault else { return .receiptStatus(status, writeMembers) }
        return .receiptStatus(other.status, retryable: other.retryable, writeMembers)
    }

    private func writeLatest(_ latestReceipt: String, to json: inout JSONWriter) {
        var generator = SplitMix64(seed: seed, purpose: receipt.contents.bundleID)
        if let transactions = account.listed(excludingOld: excludesOldTransactions)?.shuffled(using: &generator) {
            json.objects("latest_receipt_info", of: transactions) { $0.members(of: tampered($1)) }
        }
        json.member("latest_receipt", latestReceipt)
        if let renewals = account.renewals?.shuffled(using: &generator) {
            json.objects("pending_renewal_info", of: renewals) { $0.members(of: $1) }
        }
    }

    private var environment: Environment {
        fault == .wrongEnvironment ? Endpoint(receipt.environment).other.environment : receipt.environment
    }
}

/// The answer after a manipulation between Apple and the client.
extension GenuineAnswer {
    private func tampered(_ contents: ReceiptContents) -> ReceiptContents {
        var contents = contents
        contents.bundleID = tampered(contents.bundleID)
        contents.purchases = contents.purchases.map(tampered)
        return contents
    }

    private func tampered(_ transaction: SimulatedTransaction) -> SimulatedTransaction {
        var transaction = transaction
        transaction.purchase = tampered(transaction.purchase)
        return transaction
    }

    private func tampered(_ transaction: TransactionReceiptContents) -> TransactionReceiptContents {
        var transaction = transaction.with(tampered(transaction.purchase))
        transaction.bundleID = tampered(transaction.bundleID)
        return transaction
    }

    private func tampered(_ bundleID: String) -> String {
        fault == .tampered(.otherBundleID) ? ServerFault.Tampering.bundleID : bundleID
    }

    private func tampered(_ purchase: PurchaseContents) -> PurchaseContents {
        var purchase = purchase
        if fault == .tampered(.expires2099), purchase.isSubscription {
            purchase.expiresDate = ServerFault.Tampering.end
        }
        return purchase
    }
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

/// An answer in the form for transaction receipts (iOS 6): one purchase, as an object; `expires_date` in milliseconds;
/// status 21006 for an expired subscription.
struct IOS6Answer {
    let sent: TransactionReceiptContents
    /// The last period of its subscription, and the renewal; nil for other products. Answers of 2012 have no renewal.
    let latest: (period: TransactionReceiptContents, renewal: SimulatedRenewal?)?
    let now: UTCDate
    /// In base64; nil for other products. Not in an answer about an expired subscription.
    let latestReceipt: String?
    /// True if a recorded answer is about an expired subscription; nil without a recorded answer: the end of the period
    /// decides, or its refund.
    var isRecordedAsOver: Bool?

    /// Writes the members of the answer, except `status`.
    func write(to json: inout JSONWriter) {
        json.object("receipt") { $0.members(of: sent) }
        guard let (period, renewal) = latest else { return }
        json.object(isOver ? "latest_expired_receipt_info" : "latest_receipt_info") { $0.members(of: period) }
        if !isOver { json.member("latest_receipt", latestReceipt) }
        guard let renewal else { return }
        json.member("auto_renew_product_id", renewal.nextProductID)
        json.member("auto_renew_status", renewal.isOn ? 1 : 0)
        json.member("expiration_intent", renewal.expirationIntent?.description)
        json.member("is_in_billing_retry_period", renewal.isInBillingRetry.map { $0 ? "1" : "0" })
    }

    var status: Int { isOver ? 21006 : 0 }

    private var isOver: Bool { isRecordedAsOver ?? latest?.period.purchase.isOver(at: now) ?? false }
}

extension PurchaseContents {
    fileprivate func isOver(at now: UTCDate) -> Bool {
        expiresDate.map { $0 <= now || cancellationDate != nil } ?? false
    }
}

extension JSONWriter {
    /// Writes the fields of a transaction receipt, under their names with underscores.
    fileprivate mutating func members(of transaction: TransactionReceiptContents) {
        for field in transaction.purchaseInfo.members {
            member(named: field.name.replacing("-", with: "_"), field.value)
        }
    }
}
