// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Cryptography
internal import Gateway
internal import HTTPServer
internal import JSON
internal import Receipts
internal import Synchronization

/// The claims of a signed answer that name its app and its request, so that no other answer passes for it.
///
/// ```json
/// {"iat": 1800000000, "exp": 1800000300, "nonce": "…", "aud": "com.example.shop",
///  "request": {"receipt": "SHA-256 in base64url"}, "answer": {"verdict": "genuine", …}}
/// ```
/// `request` has the fields of the request's body that name a purchase or a customer, each with a digest in place of its
/// text.
final class AnswerBinding: Sendable {
    /// `aud` and `request`, as an object.
    private let claims: [UInt8]

    /// - Parameter answer: names the app, unless the request does.
    init(_ request: VerificationRequest, _ answer: Answer) {
        claims = JSONWriter.object(reservingCapacity: 256 + 48 * request.options.itemCount) { json in
            json.member("aud", answer.subject?.bundleID ?? request.options.expectations.bundleID)
            json.object("request") { json in
                json.digests(of: request.subject)
                json.member("account", request.options.account?.id.digest)
            }
        }
    }

    /// Returns a reply with the answer of a plain reply, signed.
    func signed(_ plain: Reply, under terms: SignatureTerms, at now: Timestamp) -> Reply {
        let body = plain.body.bytes, seconds = now.millisecondsSince1970 / 1000
        let payload = JSONWriter.object(reservingCapacity: body.count + claims.count + 256) { json in
            json.member("iat", seconds)
            json.member("exp", seconds + terms.keys.lifetime.components.seconds)
            json.member("nonce", terms.nonce)
            json.members(claims.dropFirst().dropLast())
            json.member("answer", object: body)
        }
        return Reply(fields: .ofJOSE, body: ReplyBody(terms.keys.signer.compactJWS(payload)))
    }

    /// The approximate memory.
    var byteCount: Int { claims.count + 96 }

    /// The approximate memory of a signed answer.
    /// - Parameter bodyBytes: the bytes of the plain answer.
    func byteCount(ofSigned bodyBytes: Int) -> Int { Base64.encodedCount(of: bodyBytes + claims.count + 192) + 320 }
}

/// The signed form of a cached answer: made when the answer is repeated for the first time, and sent again until half of its
/// lifetime has passed.
final class RepeatedSignature: Sendable {
    let binding: AnswerBinding
    private let latest = Mutex<(reply: Reply, signedAt: Timestamp, until: Timestamp)?>(nil)

    init(_ binding: AnswerBinding) { self.binding = binding }

    /// The approximate memory, also before the signature is made.
    /// - Parameter bodyBytes: the bytes of the plain answer.
    func byteCount(for bodyBytes: Int) -> Int { 160 + binding.byteCount + binding.byteCount(ofSigned: bodyBytes) }

    /// Returns the latest signed reply; nil if a new one is due, also after the clock was set back.
    func reply(at now: Timestamp) -> Reply? {
        latest.withLock { latest in
            guard let latest, latest.signedAt <= now, now < latest.until else { return nil }
            return latest.reply
        }
    }

    /// Signs the answer of a plain reply, for this request alone if the terms have a nonce.
    func signed(_ plain: Reply, under terms: SignatureTerms, at now: Timestamp) -> Reply {
        let signed = binding.signed(plain, under: terms, at: now)
        guard terms.nonce == nil else { return signed }
        let reply = signed.repeatable()
        latest.withLock { $0 = (reply, now, now.advanced(by: terms.keys.lifetime / 2)) }
        return reply
    }
}

extension JSONWriter {
    fileprivate mutating func digests(of subject: RequestSubject) {
        switch subject {
        case .transactionID(let id): member("transaction_id", id.digest)
        case .evidence(.appReceipt(let bytes)), .evidence(.transactionReceipt(let bytes)), .evidence(.jws(let bytes)):
            member("receipt", bytes.digest)
        case .evidence(.signedTransactions(let set)):
            strings("signed_transactions", set.transactions.map(\.digest))
            if !set.renewalInfos.isEmpty { strings("signed_renewal_infos", set.renewalInfos.map(\.digest)) }
            member("app_transaction", set.appTransaction?.digest)
        }
    }
}

extension [UInt8] {
    /// SHA-256 in base64url.
    fileprivate var digest: String { Base64.encodeURL(HashFunction.sha256.digest(of: self)) }
}

extension String {
    fileprivate var digest: String { Array(utf8).digest }
}
