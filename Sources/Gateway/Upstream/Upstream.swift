// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts
public import Secrets

/// Apple, as the gateway sees it: one question to one endpoint, one reply. Which endpoint is asked, whether again, and
/// what a reply means for the verdict is decided by the gateway.
public protocol Upstream: Sendable {
    /// The shared secret that is configured for this app: without one Apple says nothing of its subscriptions.
    func secret(forApp bundleID: String?) -> Secret?

    /// Asks once. Every fault is a reply; none is thrown, so none is forgotten.
    func ask(
        _ request: UpstreamRequest, at endpoint: UpstreamEndpoint, deadline: ContinuousClock.Instant
    ) async -> UpstreamResponse
}

/// One response of an endpoint.
public struct UpstreamResponse: Sendable {
    /// What it means.
    public var reply: UpstreamReply
    /// Apple's status code, such as 0 or 21002; nil if there was none.
    public var status: Int?
    /// The HTTP status, for traces; nil if there was none.
    public var httpStatus: Int?

    /// Creates a response.
    public init(_ reply: UpstreamReply, status: Int? = nil, httpStatus: Int? = nil) {
        self.reply = reply
        self.status = status
        self.httpStatus = httpStatus
    }
}

/// What Apple is asked.
public struct UpstreamRequest: Sendable {
    /// The purchase that it is asked about.
    public var subject: VerificationSubject
    /// The shared secret the caller sent; nil takes the one that is configured for the app.
    public var callersSecret: Secret?
    /// What of the answer is wanted.
    public var options: UpstreamOptions

    /// Creates a question.
    public init(
        about subject: VerificationSubject, callersSecret: Secret? = nil, options: UpstreamOptions = UpstreamOptions()
    ) {
        self.subject = subject
        self.callersSecret = callersSecret
        self.options = options
    }
}

extension UpstreamRequest {
    /// The bytes of the evidence as it was sent.
    var sentByteCount: Int { subject.evidence?.receipt?.bytes.count ?? 0 }
}

extension UpstreamRequest: CustomStringConvertible, CustomReflectable {
    /// No byte of the evidence, no secret, and no app.
    public var description: String { "UpstreamRequest(\(subject))" }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What came of one question.
public enum UpstreamReply: Sendable {
    /// Apple holds the receipt to be genuine, and this is what it knows.
    case answer(UpstreamAnswer)
    /// The receipt belongs to the other endpoint.
    case otherEnvironment
    /// Apple answered, but not about the receipt's contents.
    case refusal(UpstreamRefusal)
    /// Apple asks to wait.
    case throttled(Duration)
    /// Apple gave no answer that can be used.
    case failure(UpstreamFailure)
}

/// Why Apple says nothing of a receipt's contents. The raw values are those of metrics.
public enum UpstreamRefusal: String, CaseIterable, Hashable, Sendable {
    /// 21002: malformed, or a passing trouble at Apple.
    case malformed
    /// 21003: it could not be authenticated.
    case notAuthenticated = "not_authenticated"
    /// 21004: the shared secret is not the one of the app's account.
    case secretRejected = "secret_rejected"
    /// 21100 to 21199, and Apple says that asking again is of no use.
    case brokenRecord = "broken_record"
    /// 21010: the customer's account is not found or was deleted.
    case accountNotFound = "account_not_found"
}

/// Why there is no answer. The raw values are those of metrics.
public enum UpstreamFailure: String, CaseIterable, Hashable, Sendable {
    /// No connection: the name did not resolve, or nobody accepted.
    case unreachable
    /// The server could not prove that it is Apple, or TLS failed otherwise.
    case tls
    /// The deadline passed.
    case timeout
    /// The connection ended before the answer did.
    case reset
    /// HTTP status 5xx.
    case serverError = "server_error"
    /// An answer that is no answer: HTML, empty, truncated, too large, without a status.
    case unusableAnswer = "unusable_answer"
    /// 21005, 21009 and 21100 to 21199: Apple says that it cannot tell now.
    case unavailable
    /// Apple did not accept the request itself; repeating it changes nothing.
    case requestRefused = "request_refused"
    /// The gateway is stopping.
    case stopping
}

/// What Apple knows of a genuine receipt.
public struct UpstreamAnswer: Sendable {
    /// Where the receipt belongs.
    public var environment: Environment
    /// The app it was issued for.
    public var bundleID: String
    /// All transactions of the answer; where lists name one twice, the more recent word counts.
    public var transactions: [Transaction]
    /// Apple's plans for the subscriptions.
    public var renewals: [Renewal]
    /// The receipt that Apple signed for this answer, in DER; nil if there is none or it is no PKCS #7.
    public var latestReceipt: [UInt8]?
    /// The answer's JSON as it came.
    public var body: [UInt8]

    /// An answer.
    public init(
        environment: Environment, bundleID: String, transactions: [Transaction], renewals: [Renewal],
        latestReceipt: [UInt8]?, body: [UInt8]
    ) {
        self.environment = environment
        self.bundleID = bundleID
        self.transactions = transactions
        self.renewals = renewals
        self.latestReceipt = latestReceipt
        self.body = body
    }
}
