// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
package import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import NIOCore
package import Receipts

/// `POST /verifyReceipt`: compatible with Apple's endpoint of that name, so that a backend changes only the host name.
///
/// An answer of Apple's endpoint passes through unchanged. Else a genuine receipt is answered in Apple's form. The
/// contents are signed: by the App Store Server API and in the receipt, or in the receipt alone. Header fields name the
/// source.
package struct AppleFormEndpoint: VerifyEndpoint {
    package init() {}

    package var path: String { "/verifyReceipt" }

    /// Accepts every content type, as Apple does.
    package func check(contentType: String?) {}

    /// Reads a body. Faults of the request are Apple's 21002, as the client expects.
    package func read(_ body: ByteBuffer) -> VerifyInput {
        let bytes = body.readableBytesUInt8Span
        do {
            let fields = try VerifyReceiptRequestBody(decoding: bytes)
            let receipt = try fields.receipt.receipt(in: bytes)
            if let misplaced = fields.receipt.misplaced(decoded: receipt, in: bytes) { throw misplaced }
            var options = VerificationOptions()
            options.mode = .appleFirst
            options.excludesOldTransactions = fields.excludesOldTransactions
            options.sentSecret = fields.secret
            return .request(VerificationRequest(.evidence(Evidence(receipt: receipt)), options: options))
        } catch {
            // One sentence, without a byte of the body's values. It may name a member, shortened.
            let subject = error is JSONFault ? "" : "\"receipt-data\" "
            return .reply(Reply(status: .malformedOrTemporary, because: "\(subject)\(error)"))
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

// MARK: - Answers

extension AppleFormEndpoint {
    /// Apple's form does not show the provenance, so both replies are equal.
    package func replies(
        to options: VerificationOptions, with answer: Answer, at now: Timestamp
    ) -> (first: Reply, repeated: Reply) {
        let reply = reply(to: options, answer, at: now)
        return (reply, reply)
    }

    private func reply(to options: VerificationOptions, _ answer: Answer, at now: Timestamp) -> Reply {
        switch answer.verdict {
        case .rejected(.rule(let rule)): Reply(status: rule.appleStatus, because: rule.rawValue)
        case .rejected(.accountNotFound): Reply(status: .accountNotFound, because: nil, from: .apple)
        // Only `POST /v1/verify` takes transaction IDs and accounts.
        case .rejected(.unknownTransaction), .rejected(.otherAccount), .undecided: Self.undecided
        case .genuine: genuine(options, answer, at: now)
        }
    }

    private func genuine(_ options: VerificationOptions, _ answer: Answer, at now: Timestamp) -> Reply {
        let provenance = answer.provenance
        // A client that sent a secret must learn that Apple rejects it; a configured secret is not the client's fault.
        if options.sentSecret != nil, provenance.degradedReasons.contains(.sharedSecretRejected) {
            return Reply(status: .wrongSharedSecret, because: nil, from: .apple)
        }
        if let body = answer.upstreamBody { return Reply(body: ReplyBody(body), from: provenance) }
        guard let rebuilt = answer.rebuilt(to: options, at: now) else { return Self.undecided }
        return Reply(body: ReplyBody(rebuilt.body), from: provenance, rebuilding: rebuilt.members)
    }

    /// Apple's "the receipt server could not provide the receipt", which clients take as "retry later".
    private static var undecided: Reply { Reply(status: .serverUnavailable, because: nil) }
}

/// An answer in the form of `verifyReceipt` that is made of signed contents.
struct RebuiltAnswer: Sendable {
    let body: [UInt8]
    /// The members that Apple's own answer would have with other contents. None if only the receipt is known.
    let members: [String]
}

extension Answer {
    /// Returns the answer in the form of `verifyReceipt`; nil for other evidence than receipts.
    func rebuilt(to options: VerificationOptions, at now: Timestamp) -> RebuiltAnswer? {
        let latestReceipt = earlierUpstreamBody.flatMap { VerifyReceiptResponse.latestReceipt(ofKnown: $0.span) }
        let isServerAPIs = provenance.source == .serverAPI
        func rebuilt(_ body: [UInt8], hasLatestReceipt: Bool) -> RebuiltAnswer {
            let members =
                (mayLackConsumables ? ["latest_receipt_info"] : []) + (hasLatestReceipt ? ["latest_receipt"] : [])
            return RebuiltAnswer(body: body, members: isServerAPIs ? members : [])
        }
        if let receipt {
            let response = AppReceiptResponse(
                receipt: receipt, latest: transactions.values, excludesOldTransactions: options.excludesOldTransactions,
                plans: isServerAPIs ? renewals : nil, latestReceipt: latestReceipt, requestDate: now)
            return rebuilt(response.body, hasLatestReceipt: response.hasLatestReceipt)
        }
        return subject?.evidence?.transactionReceipt.map { receipt in
            var response = TransactionReceiptResponse(
                receipt: receipt, isLapsed: isLapsed(at: now), latestReceipt: latestReceipt)
            if isServerAPIs {
                response.chain = chain(of: receipt)
                response.plan = subscription(of: receipt)?.renewal
            }
            return rebuilt(response.body, hasLatestReceipt: response.hasLatestReceipt)
        }
    }

    /// Returns the purchase that a transaction receipt is about, with all periods of its subscription.
    private func chain(of receipt: VerifiedTransactionReceipt) -> [Transaction] {
        let chains = ChainNames(transactions.values, renewals)
        let chain = chains.current(receipt.originalTransactionID ?? receipt.transactionID)
        return transactions.filter { chains.current($0.chainID) == chain }
    }

    /// Returns the subscription that a transaction receipt is about; nil for another product.
    private func subscription(of receipt: VerifiedTransactionReceipt) -> Subscription? {
        let id = receipt.originalTransactionID ?? receipt.transactionID
        let chain = ChainNames(transactions.values, renewals).current(id)
        return subscriptions.first { $0.originalTransactionID == chain }
    }

    /// Returns true if Apple's status is 21006, or would be: the subscription of a transaction receipt has ended.
    func isLapsed(at now: Timestamp) -> Bool {
        if provenance.source == .apple, !provenance.isDegraded {
            return provenance.upstreamStatus == VerifyReceiptStatus.subscriptionExpired.code
        }
        guard let receipt = subject?.evidence?.transactionReceipt, let subscription = subscription(of: receipt) else {
            return false
        }
        return subscription.accessUntil.map { $0 <= now } ?? true
    }
}

extension Reply {
    /// Creates an answer in a format that does not show its provenance: header fields name it.
    init(body: ReplyBody, from provenance: Provenance, rebuilding members: [String] = []) {
        self.init(body: body)
        if !members.isEmpty { fields[.gatewayRebuilt] = members.joined(separator: ", ") }
        fields[.gatewaySource] = provenance.source.rawValue
        if provenance.isDegraded {
            fields[.gatewayDegraded] = provenance.degradedReasons.map(\.rawValue).joined(separator: ", ")
        }
    }

    /// Creates an answer in Apple's form with a status only.
    fileprivate init(status: VerifyReceiptStatus, because reason: String?, from source: Provenance.Source = .local) {
        var json = JSONWriter()
        json.object { $0.member("status", status.code) }
        self.init(json: json.bytes)
        fields[.gatewaySource] = source.rawValue
        fields[.gatewayReason] = reason
    }
}

extension Rule {
    /// The status Apple would return for a receipt that breaks the rule: unreadable, or not authentic.
    var appleStatus: VerifyReceiptStatus {
        switch self {
        case .derTruncated, .derTrailingBytes, .derNonMinimalLength, .derLengthTooLarge, .derIndefiniteLength,
            .derNonMinimalInteger, .derIntegerOutOfRange, .derUnexpectedTag, .derConstructedString, .derTooDeep,
            .receiptTooLarge, .tooManyCertificates, .tooManyAttributes, .tooManyPurchases, .notSignedData,
            .unsupportedVersion, .contentTypeNotData, .contentMissing, .contentEmpty,
            .transactionReceiptMalformed, .transactionReceiptVersionUnsupported, .transactionReceiptSignatureMalformed,
            .purchaseInfoMalformed:
            .malformedOrTemporary
        default: .notAuthenticated
        }
    }
}
