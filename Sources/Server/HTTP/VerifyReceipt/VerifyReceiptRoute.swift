// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import Receipts

/// `POST /verifyReceipt`: what Apple's endpoint of that name answers, so that a backend changes only the host name.
///
/// Apple's own answer passes through as it came. Without Apple, a genuine receipt is answered with what is signed, in
/// Apple's form. Header fields say which it was.
struct VerifyReceiptRoute: Sendable {
    /// Decides.
    let verification: VerificationService
    /// Tells who asks.
    let authenticator: Authenticator
    /// The time, which tests set.
    let clock: @Sendable () -> Timestamp
    /// Counts verdicts.
    let metrics: VerificationMetrics
    /// What is answered when nothing can be said.
    let undecidedReply: UndecidedReply

    /// Apple answers 21000 to what is no POST.
    func respondToGet(_ request: Request, context: GatewayRequestContext) throws -> Response {
        _ = try authenticator.client(for: request.headers, at: clock())
        return Response(status: .notPOST, because: nil)
    }

    /// Reads the request, has it decided, and answers. Faults of the request are Apple's 21002, as the caller expects.
    func respond(to request: Request, context: GatewayRequestContext) async throws -> Response {
        let now = clock()
        let client = try authenticator.client(for: request.headers, at: now)
        context.outcome.record { $0.client = client.name }
        let body = try await request.body.whole()
        context.outcome.record { $0.bodyBytes = body.readableBytes }
        let question: VerificationRequest
        do throws(MalformedRequest) {
            question = try self.question(in: body, from: client)
        } catch {
            return Response(status: .malformedOrTemporary, because: error.fault)
        }
        guard !question.evidence.isTransactionReceipt else { return nothingToSay(.transactionReceipt) }
        let answer = try await verification.verify(question, at: now)
        metrics.count(answer)
        context.outcome.record { $0.add(answer) }
        return response(to: question, answer, at: now).telling(of: answer, at: now)
    }

    private func question(in body: ByteBuffer, from client: Client) throws(MalformedRequest) -> VerificationRequest {
        let bytes = body.readableBytesUInt8Span
        do {
            let fields = try VerifyReceiptRequestBody(decoding: bytes)
            var request = VerificationRequest(
                evidence: .appReceipt(try fields.receipt.bytes(in: bytes, as: Base64.decode)), mode: .appleFirst,
                excludesOldTransactions: fields.excludesOldTransactions, permittedApps: client.apps)
            request.callersSecret = fields.secret
            return request
        } catch {
            throw MalformedRequest(fault: "\(error)")
        }
    }
}

/// Why a body is no request: one sentence without a byte of its values. It may name a member, shortened.
private struct MalformedRequest: Error {
    let fault: String
}

// MARK: - Answers

extension VerifyReceiptRoute {
    private func response(to question: VerificationRequest, _ answer: Answer, at now: Timestamp) -> Response {
        switch answer.verdict {
        case .rejected(.rule(let rule)): Response(status: rule.appleStatus, because: rule.rawValue)
        case .rejected(.accountNotFound): Response(status: .accountNotFound, because: nil, from: .apple)
        case .undecided: nothingToSay(nil)
        case .genuine: genuine(question, answer, at: now)
        }
    }

    private func genuine(_ question: VerificationRequest, _ answer: Answer, at now: Timestamp) -> Response {
        let provenance = answer.provenance
        // Who sent a secret wants to know that Apple does not accept it; whose secret is configured is not to blame.
        if question.callersSecret != nil, provenance.degradedReasons.contains(.sharedSecretRejected) {
            return Response(status: .wrongSharedSecret, because: nil, from: .apple)
        }
        guard let receipt = answer.receipt else { return nothingToSay(nil) }
        let shown = Set(answer.transactions.map(\.transactionID))
        let body =
            answer.upstreamBody
            ?? LocalVerifyReceiptResponse(
                receipt, showing: receipt.purchases.filter { shown.contains($0.transactionID) }, at: now
            ).body
        var response = Response(json: body)
        response.headers[.gatewaySource] = provenance.source.rawValue
        if provenance.isDegraded {
            response.headers[.gatewayDegraded] = provenance.degradedReasons.map(\.rawValue).joined(separator: ", ")
        }
        return response
    }

    /// Apple's "the receipt server could not provide the receipt", which callers take as "ask again later".
    private func nothingToSay(_ reason: NothingToSay?) -> Response {
        var response = Response(status: .serverUnavailable, because: reason?.rawValue)
        guard undecidedReply == .unavailable else { return response }
        response.status = .serviceUnavailable
        response.headers[.retryAfter] = "5"
        return response
    }

    /// Why nothing can be said that Apple's status does not tell.
    private enum NothingToSay: String {
        /// A receipt for one purchase, as apps sent them in iOS 6: the gateway cannot verify it, and what it has not
        /// verified it does not send to Apple.
        case transactionReceipt = "transaction_receipts_are_not_supported"
    }
}

extension Response {
    /// Apple's answer where there is nothing but a status.
    fileprivate init(status: VerifyReceiptStatus, because reason: String?, from source: Provenance.Source = .local) {
        var json = JSONWriter()
        json.object { json in
            json.key("status")
            json.integer(status.code)
        }
        self.init(json: json.bytes)
        headers[.gatewaySource] = source.rawValue
        headers[.gatewayReason] = reason
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
