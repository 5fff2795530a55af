// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ReceiptForge
internal import Receipts
internal import Synchronization

/// The body of a request, read and verified once.
final class ReceiptRequest: Sendable {
    enum Subject: Sendable {
        /// No JSON, no base64, or no receipt: status 21002.
        case malformed
        /// A receipt without a trusted signature: status 21003.
        case notAuthentic
        case genuine(GenuineReceipt)
    }

    let subject: Subject
    /// The digest of the signed content, or of what was sent in its place. Tells receipts apart.
    let identity: Fingerprint
    let password: String?
    let excludesOldTransactions: Bool
    private let lastAnswer = Mutex<Kept?>(nil)

    /// The last answer, and the edition it was made for.
    private struct Kept {
        let edition: Edition
        let answer: GenuineAnswer
    }

    init(_ body: [UInt8], verifier: ReceiptVerifier, now: Timestamp) {
        let fields = try? JSONDecoder().decode(Fields.self, from: Data(body))
        password = fields?.password
        excludesOldTransactions = fields?.excludesOldTransactions ?? false
        (subject, identity) = Self.subject(ofReceipt: fields?.receipt, verifier, now)
    }

    private struct Fields: Decodable {
        let receipt: String
        let password: String?
        let excludesOldTransactions: Bool?

        enum CodingKeys: String, CodingKey {
            case receipt = "receipt-data"
            case password
            case excludesOldTransactions = "exclude-old-transactions"
        }
    }

    /// Verifies a receipt.
    /// - Parameter text: the receipt in base64; nil if the request had none.
    static func subject(
        ofReceipt text: String?, _ verifier: ReceiptVerifier, _ now: Timestamp
    ) -> (Subject, Fingerprint) {
        let receipt = text.flatMap { try? Base64.decode($0) }
        if let receipt, receipt.first == UInt8(ascii: "{") {
            return subject(ofTransactionReceipt: receipt, verifier, now)
        }
        guard let der = receipt, let form = try? UnverifiedReceipt(der) else {
            return (.malformed, Fingerprint(of: Array((text ?? "").utf8).span))
        }
        guard let receipt = try? verifier.verify(form, at: now) else {
            return (.notAuthentic, Fingerprint(of: der.span))
        }
        return (.genuine(GenuineReceipt(receipt)), Fingerprint(of: receipt.signedContent))
    }

    private static func subject(
        ofTransactionReceipt bytes: [UInt8], _ verifier: ReceiptVerifier, _ now: Timestamp
    ) -> (Subject, Fingerprint) {
        do throws(ReceiptError) {
            let receipt = try verifier.verify(transactionReceipt: bytes, at: now)
            return (.genuine(GenuineReceipt(receipt)), receipt.identity)
        } catch {
            return (error.rule.isAboutForm ? .malformed : .notAuthentic, Fingerprint(of: bytes.span))
        }
    }

    /// Returns the answer for this edition, made anew if the last answer was for another edition.
    func answer(for edition: Edition, orMake make: () -> GenuineAnswer) -> GenuineAnswer {
        lastAnswer.withLock { kept in
            if let kept, kept.edition == edition { return kept.answer }
            let answer = make()
            kept = Kept(edition: edition, answer: answer)
            return answer
        }
    }
}

extension Rule {
    /// True for a transaction receipt that cannot be read.
    fileprivate var isAboutForm: Bool {
        switch self {
        case .receiptTooLarge, .transactionReceiptMalformed, .transactionReceiptVersionUnsupported,
            .transactionReceiptSignatureMalformed, .purchaseInfoMalformed:
            true
        default: false
        }
    }
}

/// A verified receipt, read once.
struct GenuineReceipt: Sendable {
    /// The contents; a transaction receipt's contents as an app receipt with one purchase.
    let contents: ReceiptContents
    let environment: Environment
    /// The contents of a transaction receipt, which is answered in the style of iOS 6; nil for an app receipt.
    let transaction: TransactionReceiptContents?

    init(_ receipt: VerifiedReceipt) {
        contents = ReceiptContents(receipt)
        environment = receipt.environment
        transaction = nil
    }

    /// The environment is not signed, and Apple knows it anyway: here it is what the receipt says.
    init(_ receipt: VerifiedTransactionReceipt) {
        let transaction = TransactionReceiptContents(receipt)
        contents = ReceiptContents(transaction)
        environment = Environment(rawValue: transaction.environment) == .sandbox ? .sandbox : .production
        self.transaction = transaction
    }

    /// True for a receipt with subscriptions: Apple requires the shared secret, and returns more.
    var hasSubscriptions: Bool { contents.purchases.contains(where: \.isSubscription) }
}
