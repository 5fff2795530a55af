// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Receipts
internal import Synchronization

/// A request's body, read and verified once.
final class ReceiptRequest: Sendable {
    /// What was sent for a receipt.
    enum Subject: Sendable {
        /// No JSON, no base64, or no receipt in it: status 21002.
        case malformed
        /// A receipt that nobody trusted has signed: status 21003.
        case notAuthentic
        /// A genuine one.
        case genuine(GenuineReceipt)
    }

    let subject: Subject
    /// Tells receipts apart: the digest of the signed content, or of what was sent in its place.
    let identity: Fingerprint
    let password: String?
    let excludesOldTransactions: Bool
    private let lastAnswer = Mutex<Kept?>(nil)

    /// What the last answer was made for, and the answer.
    private struct Kept {
        let edition: Edition
        let answer: RenderedAnswer
    }

    /// Reads a body.
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

    /// The answer for this edition, made if the last one was for another.
    func answer(for edition: Edition, orMake make: () -> RenderedAnswer) -> RenderedAnswer {
        lastAnswer.withLock { kept in
            if let kept, kept.edition == edition { return kept.answer }
            let answer = make()
            kept = Kept(edition: edition, answer: answer)
            return answer
        }
    }
}

/// For how long an answer is the same, but for the dates of the request.
struct Edition: Hashable, Sendable {
    /// Which scenario is being played, counted from 1.
    let play: Int
    /// Which receipts are given out meanwhile.
    let issue: Int64
}
