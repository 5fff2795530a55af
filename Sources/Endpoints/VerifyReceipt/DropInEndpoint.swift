// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
package import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import NIOCore
package import Receipts
package import Settings

/// `POST /verifyReceipt`: compatible with Apple's endpoint of that name, so that a backend changes only the host name.
///
/// Apple's own answer passes through unchanged. Without Apple, a genuine receipt is answered with its signed contents
/// in Apple's form. Header fields name the source.
package struct DropInEndpoint: VerifyEndpoint {
    /// The reply when there is no verdict.
    let undecidedReply: UndecidedReply

    package init(undecidedReply: UndecidedReply) {
        self.undecidedReply = undecidedReply
    }

    package var path: String { "/verifyReceipt" }

    /// Accepts every content type, as Apple does.
    package func check(contentType: String?) {}

    /// Reads a body. Faults of the request are Apple's 21002, as the client expects.
    package func read(_ body: ByteBuffer) -> VerifyInput {
        do throws(MalformedRequest) {
            let request = try self.request(in: body.readableBytesUInt8Span)
            guard !request.evidence.isTransactionReceipt else {
                return .reply(undecided(because: Self.transactionReceipt))
            }
            return .request(request)
        } catch {
            return .reply(Reply(status: .malformedOrTemporary, because: error.fault))
        }
    }

    private func request(in bytes: Span<UInt8>) throws(MalformedRequest) -> VerificationRequest {
        do {
            let fields = try VerifyReceiptRequestBody(decoding: bytes)
            var request = VerificationRequest(
                evidence: .appReceipt(try fields.receipt.bytes(in: bytes, as: Base64.decode)), mode: .appleFirst,
                excludesOldTransactions: fields.excludesOldTransactions)
            request.options.callersSecret = fields.secret
            return request
        } catch {
            throw MalformedRequest(fault: "\(error)")
        }
    }

    /// Always true: the endpoint ends together with Apple's.
    package func announcesEnd(withAnswerFrom source: Provenance.Source?) -> Bool { true }
}

extension Route {
    /// `GET /verifyReceipt`: Apple answers 21000 to every method but POST.
    package static func verifyReceiptByGet(announcing lifecycle: UpstreamLifecycle) -> Route {
        Route(.get, "/verifyReceipt") { _ in
            var reply = Reply(status: .notPOST, because: nil)
            reply.fields.announce(lifecycle.state(of: UpstreamEndpoint(.verifyReceipt, .production)))
            return reply
        }
    }
}

/// The reason why a body is no request: one sentence without a byte of its values. It may name a member, shortened.
private struct MalformedRequest: Error {
    let fault: String
}

// MARK: - Answers

extension DropInEndpoint {
    /// Apple's form does not tell the provenance, so both replies are the same.
    package func replies(to options: VerificationOptions, with answer: Answer, at now: Timestamp) -> Replies {
        let reply = reply(to: options, answer, at: now)
        return Replies(now: reply, repeated: reply)
    }

    private func reply(to options: VerificationOptions, _ answer: Answer, at now: Timestamp) -> Reply {
        switch answer.verdict {
        case .rejected(.rule(let rule)): Reply(status: rule.appleStatus, because: rule.rawValue)
        case .rejected(.accountNotFound): Reply(status: .accountNotFound, because: nil, from: .apple)
        case .undecided: undecided()
        case .genuine: genuine(options, answer, at: now)
        }
    }

    private func genuine(_ options: VerificationOptions, _ answer: Answer, at now: Timestamp) -> Reply {
        let provenance = answer.provenance
        // A client that sent a secret must learn that Apple rejects it; a configured secret is not the client's fault.
        if options.callersSecret != nil, provenance.degradedReasons.contains(.sharedSecretRejected) {
            return Reply(status: .wrongSharedSecret, because: nil, from: .apple)
        }
        guard let receipt = answer.receipt else { return undecided() }
        let body = answer.upstreamBody ?? localBody(receipt, answer, at: now)
        var reply = Reply(body: ByteBuffer(bytes: body))
        reply.fields[.gatewaySource] = provenance.source.rawValue
        if provenance.isDegraded {
            reply.fields[.gatewayDegraded] = provenance.degradedReasons.map(\.rawValue).joined(separator: ", ")
        }
        return reply
    }

    private func localBody(_ receipt: VerifiedReceipt, _ answer: Answer, at now: Timestamp) -> [UInt8] {
        LocalVerifyReceiptResponse(
            receipt: receipt, latest: answer.transactions,
            latestReceipt: answer.earlierUpstreamBody.flatMap { VerifyReceiptResponse.latestReceipt(ofKnown: $0.span) },
            requestDate: now
        ).body
    }

    /// Returns Apple's "the receipt server could not provide the receipt", which clients take as "retry later".
    /// - Parameter reason: the reason for no verdict, if Apple's status does not tell it.
    private func undecided(because reason: String? = nil) -> Reply {
        var reply = Reply(status: .serverUnavailable, because: reason)
        guard undecidedReply == .unavailable else { return reply }
        reply.status = .serviceUnavailable
        reply.fields[.retryAfter] = "5"
        return reply
    }

    /// The reason for a receipt for one purchase, as in iOS 6: the gateway cannot verify it, and sends Apple only
    /// verified receipts.
    private static let transactionReceipt = "transaction_receipts_are_not_supported"
}

extension Reply {
    /// Creates an answer in Apple's form with a status only.
    fileprivate init(status: VerifyReceiptStatus, because reason: String?, from source: Provenance.Source = .local) {
        var json = JSONWriter()
        json.object { json in
            json.key("status")
            json.integer(status.code)
        }
        self.init(body: ByteBuffer(bytes: json.bytes))
        fields[.gatewaySource] = source.rawValue
        fields[.gatewayReason] = reason
    }
}

extension Evidence {
    /// True for a transaction receipt: an old-style property list, which begins with a brace.
    fileprivate var isTransactionReceipt: Bool {
        switch self {
        case .appReceipt(let bytes): bytes.first == UInt8(ascii: "{")
        }
    }
}

extension Rule {
    /// The status Apple would return for a receipt that breaks the rule: unreadable, or not authentic.
    fileprivate var appleStatus: VerifyReceiptStatus {
        switch self {
        case .derTruncated, .derTrailingBytes, .derNonMinimalLength, .derLengthTooLarge, .derIndefiniteLength,
            .derNonMinimalInteger, .derIntegerOutOfRange, .derUnexpectedTag, .derConstructedString, .derTooDeep,
            .receiptTooLarge, .tooManyCertificates, .tooManyAttributes, .tooManyPurchases, .notSignedData,
            .unsupportedVersion, .contentTypeNotData, .contentMissing, .contentEmpty:
            .malformedOrTemporary
        default: .notAuthenticated
        }
    }
}
