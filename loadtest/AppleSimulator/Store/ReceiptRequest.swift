// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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
        (subject, identity) = Self.subject(of: fields, body, verifier, now)
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

    private static func subject(
        of fields: Fields?, _ body: [UInt8], _ verifier: ReceiptVerifier, _ now: Timestamp
    ) -> (Subject, Fingerprint) {
        guard let fields, let der = try? Base64.decode(fields.receipt), let form = try? UnverifiedReceipt(der) else {
            return (.malformed, Fingerprint(of: Array(fields?.receipt.utf8 ?? "".utf8).span))
        }
        guard let receipt = try? verifier.verify(form, at: now) else {
            return (.notAuthentic, Fingerprint(of: der.span))
        }
        return (.genuine(GenuineReceipt(receipt)), Fingerprint(of: receipt.signedContent))
    }

    /// Returns the answer for this edition, made if the last one was for another.
    func answer(for edition: Edition, orMake make: () -> GenuineAnswer) -> GenuineAnswer {
        lastAnswer.withLock { kept in
            if let kept, kept.edition == edition { return kept.answer }
            let answer = make()
            kept = Kept(edition: edition, answer: answer)
            return answer
        }
    }
}

/// The period in which an answer stays the same, except for the dates of the request.
struct Edition: Hashable, Sendable {
    /// The number of the scenario, counted from 1.
    let scenario: Int
    /// The number of the latest receipts issued in it.
    let issue: Int64
}

/// A verified receipt, read once.
struct GenuineReceipt: Sendable {
    let contents: ReceiptContents
    let environment: Environment

    init(_ receipt: VerifiedReceipt) {
        contents = ReceiptContents(receipt)
        environment = receipt.environment
    }

    /// True for a receipt with subscriptions: Apple requires the shared secret, and returns more.
    var hasSubscriptions: Bool { contents.purchases.contains(where: \.isSubscription) }
}
