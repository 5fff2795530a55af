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

/// `POST /verifyReceipt`: what Apple's endpoint of that name answers, so that a backend changes only the host name.
///
/// Apple's own answer passes through as it came. Without Apple, a genuine receipt is answered with what is signed, in
/// Apple's form. Header fields say which it was.
package struct DropInEndpoint: VerifyEndpoint {
    /// What is answered when nothing can be said.
    let undecidedReply: UndecidedReply

    /// Creates the endpoint with the answer for receipts of which nothing can be said.
    package init(undecidedReply: UndecidedReply) {
        self.undecidedReply = undecidedReply
    }

    package var path: String { "/verifyReceipt" }

    /// Apple does not look at them either.
    package func check(contentType: String?) {}

    /// Faults of the request are Apple's 21002, as the caller expects.
    package func read(_ body: ByteBuffer) -> VerifyInput {
        do throws(MalformedRequest) {
            let request = try self.request(in: body.readableBytesUInt8Span)
            guard !request.evidence.isTransactionReceipt else { return .reply(nothingToSay(.transactionReceipt)) }
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

    /// It is on its way out together with Apple's.
    package func announcesEnd(withAnswerFrom source: Provenance.Source?) -> Bool { true }
}

extension Route {
    /// `GET /verifyReceipt`: Apple answers 21000 to what is no POST.
    package static func verifyReceiptByGet(announcing lifecycle: UpstreamLifecycle) -> Route {
        Route(.get, "/verifyReceipt") { _ in
            var reply = Reply(status: .notPOST, because: nil)
            reply.fields.announce(lifecycle.state(of: UpstreamEndpoint(.verifyReceipt, .production)))
            return reply
        }
    }
}

/// Why a body is no request: one sentence without a byte of its values. It may name a member, shortened.
private struct MalformedRequest: Error {
    let fault: String
}

// MARK: - Answers

extension DropInEndpoint {
    /// Apple's form does not tell how an answer is known: given again, it is the same.
    package func replies(to options: VerificationOptions, with answer: Answer, at now: Timestamp) -> Replies {
        let reply = reply(to: options, answer, at: now)
        return Replies(now: reply, again: reply)
    }

    private func reply(to options: VerificationOptions, _ answer: Answer, at now: Timestamp) -> Reply {
        switch answer.verdict {
        case .rejected(.rule(let rule)): Reply(status: rule.appleStatus, because: rule.rawValue)
        case .rejected(.accountNotFound): Reply(status: .accountNotFound, because: nil, from: .apple)
        case .undecided: nothingToSay(nil)
        case .genuine: genuine(options, answer, at: now)
        }
    }

    private func genuine(_ options: VerificationOptions, _ answer: Answer, at now: Timestamp) -> Reply {
        let provenance = answer.provenance
        // Who sent a secret wants to know that Apple does not accept it; whose secret is configured is not to blame.
        if options.callersSecret != nil, provenance.degradedReasons.contains(.sharedSecretRejected) {
            return Reply(status: .wrongSharedSecret, because: nil, from: .apple)
        }
        guard let receipt = answer.receipt else { return nothingToSay(nil) }
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
            receipt, showing: answer.transactions,
            latestReceipt: answer.earlierUpstreamBody.flatMap {
                VerifyReceiptResponse.latestReceipt(ofKnown: $0.span)
            },
            at: now
        ).body
    }

    /// Apple's "the receipt server could not provide the receipt", which callers take as "ask again later".
    private func nothingToSay(_ reason: NothingToSay?) -> Reply {
        var reply = Reply(status: .serverUnavailable, because: reason?.rawValue)
        guard undecidedReply == .unavailable else { return reply }
        reply.status = .serviceUnavailable
        reply.fields[.retryAfter] = "5"
        return reply
    }

    /// Why nothing can be said that Apple's status does not tell.
    private enum NothingToSay: String {
        /// A receipt for one purchase, as apps sent them in iOS 6: the gateway cannot verify it, and what it has not
        /// verified it does not send to Apple.
        case transactionReceipt = "transaction_receipts_are_not_supported"
    }
}

extension Reply {
    /// Apple's answer where there is nothing but a status.
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
    /// A transaction receipt is a property list in the old style, which begins with a brace.
    fileprivate var isTransactionReceipt: Bool {
        switch self {
        case .appReceipt(let bytes): bytes.first == UInt8(ascii: "{")
        }
    }
}

extension Rule {
    /// What Apple would say of a receipt that breaks the rule: that it cannot be read, or that it is not authentic.
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
