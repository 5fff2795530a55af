// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Cryptography
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
package struct AppleFormEndpoint: ForeignEndpoint {
    package init() {}

    package var path: String { "/verifyReceipt" }

    /// Every content type is accepted, as by Apple.
    package var mediaType: RequestMediaType? { nil }

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

    package func reply(to options: VerificationOptions, with answer: Answer, at now: Timestamp) -> Reply {
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

extension Answer {
    /// Returns the answer in the form of `verifyReceipt`, made of signed contents, and the members that Apple's own answer
    /// would have with other contents (none if only the receipt is known); nil for other evidence than receipts.
    func rebuilt(to options: VerificationOptions, at now: Timestamp) -> (body: [UInt8], members: [String])? {
        let latestReceipt = earlierUpstreamBody.flatMap { VerifyReceiptResponse.latestReceipt(ofKnown: $0.span) }
        let knowsPlans = provenance.source != .local
        func rebuilt(_ body: [UInt8], hasLatestReceipt: Bool) -> (body: [UInt8], members: [String]) {
            let members =
                (mayLackConsumables ? ["latest_receipt_info"] : []) + (hasLatestReceipt ? ["latest_receipt"] : [])
            return (body, provenance.source == .serverAPI ? members : [])
        }
        if let receipt {
            let response = AppReceiptResponse(
                receipt: receipt, entitlements: entitlements, excludesOldTransactions: options.excludesOldTransactions,
                plans: knowsPlans ? renewals : nil, hasAllPlans: provenance.source == .serverAPI,
                latestReceipt: latestReceipt, requestDate: now)
            return rebuilt(response.body, hasLatestReceipt: response.hasLatestReceipt)
        }
        return subject?.evidence?.transactionReceipt.map { receipt in
            var response = TransactionReceiptResponse(
                receipt: receipt, isLapsed: isLapsed(at: now), latestReceipt: latestReceipt)
            if knowsPlans, let sent = subject?.evidence?.transactions.first {
                let subscription = subscription(of: sent)
                response.purchase = newestState(of: sent)
                response.period = subscription.flatMap {
                    entitlements.latestPeriods(at: now)[$0.originalTransactionID]
                }
                response.plan = subscription?.renewal
            }
            return rebuilt(response.body, hasLatestReceipt: response.hasLatestReceipt)
        }
    }

    /// Returns true if Apple's status is 21006, or would be: the subscription of a transaction receipt has ended.
    func isLapsed(at now: Timestamp) -> Bool {
        if provenance.source == .apple, !provenance.isDegraded {
            return provenance.upstreamStatus == VerifyReceiptStatus.subscriptionExpired.code
        }
        guard let evidence = subject?.evidence, evidence.transactionReceipt != nil,
            let sent = evidence.transactions.first, let subscription = subscription(of: sent)
        else { return false }
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
        self.init { $0.member("status", status.code) }
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

/// The body of requests to Apple's `verifyReceipt` (Apple, "requestBody"). Read as Apple reads it: unknown members are
/// skipped.
struct VerifyReceiptRequestBody: Hashable, Sendable {
    /// `receipt-data`, in base64.
    var receipt: Base64Text
    /// `password`: the app's shared secret.
    var secret: Secret?
    /// `exclude-old-transactions`: only the latest transaction of each subscription.
    var excludesOldTransactions = false

    enum Limits {
        /// The maximum bytes of a secret; Apple's have 32 hexadecimal digits.
        static let secretBytes = 64
        /// Skipped members included.
        static let members = 64
        /// The steps that all skipped members together may take (`JSONReader.work`): about as many bytes of arrays and
        /// objects, or sixteen times as many of plain text.
        static let skippedWork = 64 << 10
        static let depth = 16
        /// The steps that a value in place of a secret may take.
        static let noSecretWork = 64
        static let nameBytes = 256
    }

    /// Reads a body in one pass. Of two members with the same name the last counts, as with Apple.
    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes)
        var receipt: Base64Text?
        var memberCount = 0
        var allowance = JSONSkipAllowance(maximumDepth: Limits.depth, maximumWork: Limits.skippedWork)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            memberCount += 1
            guard memberCount <= Limits.members else {
                throw JSONFault(.tooManyValues(maximum: Limits.members), at: reader.position)
            }
            let name = try reader.value(of: key, maximumBytes: Limits.nameBytes)
            do throws(JSONFault) {
                switch name {
                case "receipt-data": receipt = try reader.base64()
                case "password": secret = try reader.secret()
                case "exclude-old-transactions":
                    excludesOldTransactions = try reader.lenientFlag(in: bytes, within: &allowance)
                default: try reader.skipValue(within: &allowance)
                }
            } catch {
                throw Self.names.contains(name) ? error.inField(name) : error
            }
        }
        try reader.endDocument()
        guard let receipt else { throw JSONFault(.missingField, field: "receipt-data", at: reader.position) }
        self.receipt = receipt
    }

    /// The names that faults contain. Any other could be a misplaced secret.
    private static let names = ["receipt-data", "password", "exclude-old-transactions"]
}

extension JSONReader {
    /// Reads a flag of clients that write `true`, `"true"` or 1 for true. Any other value is false.
    fileprivate mutating func lenientFlag(
        in bytes: Span<UInt8>, within allowance: inout JSONSkipAllowance
    ) throws(JSONFault) -> Bool {
        // Without the white space before the value.
        _ = try nextType()
        let start = position
        try skipValue(within: &allowance)
        let value = bytes.extracting(start..<position)
        return value.equals(Array("true".utf8)) || value.equals(Array(#""true""#.utf8)) || value.equals(Array("1".utf8))
    }

    /// Reads a secret; nil if it is empty or of another type. The gateway sends Apple nothing that cannot be a secret.
    fileprivate mutating func secret() throws(JSONFault) -> Secret? {
        let start = position
        guard try nextType() == .string else {
            var allowance = JSONSkipAllowance(
                maximumDepth: 0, maximumWork: VerifyReceiptRequestBody.Limits.noSecretWork)
            try skipValue(within: &allowance)
            return nil
        }
        let text = try value(of: try string(), maximumBytes: VerifyReceiptRequestBody.Limits.secretBytes)
        // Clients send it as they read it from a file.
        let secret = Array(text.utf8).withoutOuterWhiteSpace
        guard secret.allSatisfy({ (0x21...0x7E).contains($0) }), let text = String(outside: secret) else {
            throw JSONFault(.notAccepted("visible ASCII characters"), at: start)
        }
        return text.isEmpty ? nil : Secret(text)
    }
}
