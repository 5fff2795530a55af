// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOCore
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
            let answer = IOS6Answer(
                receipt: tampered(receipt.contents), subscription: subscription, now: now, latestReceipt: latestReceipt)
            return rendered(status: answer.status) { json in
                answer.write(to: &json)
                return nil
            }
        }
        return rendered(status: 0) { json in
            var requestDateOffset: Int?
            json.member("environment", environment.rawValue)
            json.object("receipt") { requestDateOffset = $0.receiptMembers(tampered(receipt.contents)) }
            if let latestReceipt { writeLatest(latestReceipt, to: &json) }
            return requestDateOffset
        }
    }

    /// - Parameter write: writes the members after the status, and returns the position for the dates of the request.
    private func rendered(status: Int, _ write: (inout JSONWriter) -> Int?) -> RenderedAnswer {
        let status = deviation.status?.status ?? status
        var (json, requestDateOffset) = (JSONWriter(), Int?.none)
        json.object { answer in
            answer.status(status, deviation.status?.retryable)
            requestDateOffset = write(&answer)
        }
        return RenderedAnswer(status: status, json.bytes, requestDateOffset: requestDateOffset)
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

/// The `latest_receipt` of an answer.
struct LatestReceipt {
    /// Apple's contents of it.
    let contents: ReceiptContents
    /// The receipt in the request.
    let sent: ReceiptContents
    let pki: ForgedPKI

    /// Another authority, created on first use: finding primes takes a while.
    private static let stranger = ForgedPKI(seed: 0x57A6)

    /// Returns the receipt in base64, or its replacement; nil for none.
    func text(_ replacement: ServerFault.LatestReceipt?) -> String? {
        var contents = contents
        switch replacement {
        case nil, .brokenBase64: break
        case .missing: return nil
        case .junk: return "MIMB" + String(repeating: "QUJD", count: 5_000_000 / 3)
        case .signedByStranger: return ForgedEvidence.der(Self.stranger.sign(contents)).base64
        case .ofOtherApp: contents.bundleID = "com.example.other"
        case .older: contents.creationDate = sent.creationDate.advanced(byDays: -1)
        }
        let text = ForgedEvidence.der(pki.sign(contents)).base64
        return replacement == .brokenBase64 ? String(text.dropLast()) : text
    }
}

/// An answer without the dates of the request, for sending it many times.
struct RenderedAnswer: Sendable {
    let status: Int
    private let head: [UInt8]
    private let tail: [UInt8]

    /// - Parameter requestDateOffset: the position for the dates of the request; nil if the answer has none.
    init(status: Int, _ json: [UInt8], requestDateOffset: Int?) {
        self.status = status
        head = Array(json.prefix(requestDateOffset ?? json.count))
        tail = Array(json.dropFirst(head.count))
    }

    /// Returns the answer to a request made now.
    func body(requestedAt now: Timestamp) -> ByteBuffer {
        var body = ByteBuffer()
        body.reserveCapacity(head.count + tail.count + 256)
        body.writeBytes(head)
        if !tail.isEmpty {
            let date = AppleDate(now)
            body.writeString(
                ",\"request_date\":\"\(date.plain)\",\"request_date_ms\":\"\(date.milliseconds)\""
                    + ",\"request_date_pst\":\"\(date.losAngeles)\"")
            body.writeBytes(tail)
        }
        return body
    }
}
