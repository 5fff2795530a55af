// SPDX-License-Identifier: Apache-2.0

internal import Clients
package import HTTPTypes
package import JSON
internal import Receipts

/// An error as the client sees it: problem details (RFC 9457).
///
/// `type` is `about:blank` unless IANA has registered a type, so `title` is the status phrase. `code` distinguishes
/// problems of one status; programs should evaluate it.
package struct Problem: ProblemError, Hashable {
    package let status: HTTPResponse.Status
    package let code: Code
    /// The fault of this request, for people. Never contains a part of a value that was sent, except a bundle ID.
    package let detail: String
    package let field: String?
    /// The position of the fault in the body, in bytes from 0.
    package let position: Int?
    package let fault: String?
    package let violatedPolicies: [String]
    /// Header fields of the answer: `Allow`, `Retry-After`, `WWW-Authenticate`.
    package var headerFields: HTTPFields

    package init(
        _ status: HTTPResponse.Status, _ code: Code, _ detail: String, field: String? = nil, position: Int? = nil,
        fault: String? = nil, violating violatedPolicies: [String] = [], headerFields: HTTPFields = [:]
    ) {
        (self.status, self.code, self.detail) = (status, code, detail)
        (self.field, self.position, self.fault) = (field, position, fault)
        (self.violatedPolicies, self.headerFields) = (violatedPolicies, headerFields)
    }

    package enum Code: String, CaseIterable, Sendable {
        case malformedRequest = "malformed_request"
        case versionNotSupported = "version_not_supported"
        case notImplemented = "not_implemented"
        case targetTooLong = "target_too_long"
        case misdirectedRequest = "misdirected_request"
        case foreignOrigin = "foreign_origin"
        case invalidBody = "invalid_body"
        case unauthenticated
        case appNotPermitted = "app_not_permitted"
        case operationNotPermitted = "operation_not_permitted"
        case invalidTransactionID = "invalid_transaction_id"
        case notFound = "not_found"
        case methodNotAllowed = "method_not_allowed"
        case quotaExceeded = "quota_exceeded"
        case requestTimeout = "request_timeout"
        case bodyTooLarge = "body_too_large"
        case unsupportedMediaType = "unsupported_media_type"
        case expectationFailed = "expectation_failed"
        case serverAPINotConfigured = "server_api_not_configured"
        case headerTooLarge = "header_too_large"
        case internalError = "internal_error"
        case overloaded
        case answerTimeout = "answer_timeout"
        case notReady = "not_ready"
        case storeUnreachable = "store_unreachable"
        case storeMisconfigured = "store_misconfigured"
        case invalidCall = "invalid_call"
        case serverAPIKeyRejected = "server_api_key_rejected"
        case upstreamDidNotAnswer = "upstream_did_not_answer"
        case outcomeUnknown = "outcome_unknown"
        case invalidNotification = "invalid_notification"
        case appNotConfigured = "app_not_configured"
        case notificationNotStored = "notification_not_stored"
        case invalidQuery = "invalid_query"
        case invalidCursor = "invalid_cursor"
        case eventsNotStored = "events_not_stored"
        case invalidIdempotencyKey = "invalid_idempotency_key"
        case idempotencyKeyReused = "idempotency_key_reused"
        case tooManyIdempotencyKeys = "too_many_idempotency_keys"
        case invalidNonce = "invalid_nonce"
    }

    static let contentType = "application/problem+json"

    package var problem: Problem { self }

    /// - Parameter writeMore: writes further members.
    package func json(requestID: String?, adding writeMore: (inout JSONWriter) -> Void = { _ in }) -> [UInt8] {
        JSONWriter.object { json in
            json.member("type", type)
            json.member("title", status.reasonPhrase)
            json.member("status", status.code)
            json.member("detail", detail)
            json.member("code", code.rawValue)
            json.member("fault", fault)
            json.member("field", field)
            json.member("position", position)
            // The member that IANA's registry defines for `quota-exceeded`.
            if !violatedPolicies.isEmpty { json.strings("violated-policies", violatedPolicies) }
            json.member("request_id", requestID)
            writeMore(&json)
        }
    }

    /// IANA's registry of HTTP problem types defines two of ours.
    private var type: String {
        let registry = "https://iana.org/assignments/http-problem-types"
        return switch code {
        case .overloaded: "\(registry)#temporary-reduced-capacity"
        case .quotaExceeded: "\(registry)#quota-exceeded"
        default: "about:blank"
        }
    }
}

/// An error that says its own answer.
package protocol ProblemError: Error {
    var problem: Problem { get }
}

extension ClientCertificate {
    /// The digest in the form of the clients file, in parentheses.
    fileprivate var digestText: String { digest.map { " (sha256:\($0))" } ?? "" }
}

extension JSONFault: ProblemError {
    package var problem: Problem {
        Problem(.badRequest, .invalidBody, description, field: field, position: position, fault: rule.name)
    }
}

extension Problem {
    /// Returns the problem for an error. An error without a problem is the gateway's fault: 500, without internal
    /// details.
    package init(_ error: any Error) {
        self =
            (error as? any ProblemError)?.problem
            ?? Problem(.internalServerError, .internalError, "Internal error in the gateway. Retry the request.")
    }

    /// Has the same text for every fault of the key.
    package static let unauthenticated = Problem(unauthenticated: "A valid API key is required: \(keyFields)")

    /// Returns the problem of a request without a valid API key, on a connection whose certificate names no client. The
    /// peer has proved that the certificate is its own, so the text may say what is wrong with it.
    static func unauthenticated(_ certificate: ClientCertificate, at now: Timestamp) -> Problem {
        let fault =
            now < certificate.expires
            ? """
            No client of the clients file lists the certificate of this connection\(certificate.digestText). Let the operator \
            add an identity of it to `certificates` of a client
            """
            : "The certificate of this connection\(certificate.digestText) has expired. Connect with a new one"
        return Problem(unauthenticated: "\(fault), or send a valid API key: \(keyFields)")
    }

    private static let keyFields = "Authorization: Bearer KEY, or X-API-Key: KEY."

    private init(unauthenticated detail: String) {
        self.init(
            .unauthorized, .unauthenticated, detail,
            headerFields: [.wwwAuthenticate: #"Bearer realm="receipt-gateway""#])
    }

    package static let onlyFromThisMachine = Problem(
        .forbidden, .operationNotPermitted, "Only loopback clients may do this. Connect to 127.0.0.1.")

    package static let notFound = Problem(.notFound, .notFound, "There is no resource at this path.")

    /// Returns the value of `Allow` (RFC 9110 §10.2.1) for the methods of a path: HEAD comes with GET, and OPTIONS always.
    package static func allowed(_ methods: [String]) -> String {
        (methods + (methods.contains("GET") ? ["HEAD", "OPTIONS"] : ["OPTIONS"])).joined(separator: ", ")
    }

    /// `Allow` is required with 405 (RFC 9110 §15.5.6).
    package static func methodNotAllowed(allowed: String) -> Problem {
        Problem(
            .methodNotAllowed, .methodNotAllowed, "This path allows only \(allowed).", headerFields: [.allow: allowed])
    }

    package static let unsupportedMediaType = Problem(
        .unsupportedMediaType, .unsupportedMediaType, "Send the body as application/json in UTF-8.")

    package static let notReady = Problem(
        .serviceUnavailable, .notReady, "The gateway is starting or stopping.", headerFields: [.retryAfter: "1"])

    /// Returns the problem for a refusal by the edge, before a request is complete.
    init(_ refusal: EdgeRefusal, bodyLimit: ByteCount) {
        switch refusal {
        case .unauthenticated: self = .unauthenticated
        case .malformed: self.init(.badRequest, .malformedRequest, "This is not a valid HTTP/1.1 request.")
        case .version: self.init(.httpVersionNotSupported, .versionNotSupported, "Send the request in HTTP/1.1.")
        case .notImplemented:
            self.init(.notImplemented, .notImplemented, "The method or transfer coding is not supported.")
        case .transferCoding:
            self.init(.badRequest, .malformedRequest, "Only the transfer coding chunked is supported, in HTTP/1.1.")
        case .targetTooLong:
            self.init(.uriTooLong, .targetTooLong, "The request target is longer than this server accepts.")
        case .misdirected:
            self.init(
                .misdirectedRequest, .misdirectedRequest,
                "This host is not served here. Use an IP address, localhost, or a configured host name.")
        case .foreignOrigin: self.init(.forbidden, .foreignOrigin, "Pages of other sites may not send this request.")
        case .tooManyOfAddress:
            self.init(
                .tooManyRequests, .quotaExceeded, "Too much of this address is in flight. Retry later.")
        case .headerTooLarge:
            self.init(.requestHeaderFieldsTooLarge, .headerTooLarge, "The header is larger than this server accepts.")
        case .bodyTooLarge:
            self.init(.contentTooLarge, .bodyTooLarge, "The body is larger than \(bodyLimit.configurationText).")
        case .bodyBeyondShare:
            self.init(
                .contentTooLarge, .bodyTooLarge, "The body is larger than one address may send without a secret key.")
        case .bodyTooFragmented:
            self.init(.badRequest, .malformedRequest, "The request body comes in too many small chunks.")
        case .headersLate: self.init(.requestTimeout, .requestTimeout, "The request header took too long to arrive.")
        case .bodyLate: self.init(.requestTimeout, .requestTimeout, "The request body took too long to arrive.")
        case .overloaded: self.init(.serviceUnavailable, .overloaded, "Too many request bodies in flight. Retry later.")
        case .answerLate: self.init(.serviceUnavailable, .answerTimeout, "The answer took too long. Retry later.")
        case .expectation: self.init(.expectationFailed, .expectationFailed, "Expect supports only 100-continue.")
        case .contentCoding:
            // RFC 9110 §12.5.3: the field distinguishes a refused coding from a refused media type.
            self.init(
                .unsupportedMediaType, .unsupportedMediaType,
                "Content-Encoding is not supported. Send the body uncompressed, without this field.",
                headerFields: [.acceptEncoding: "identity"])
        }
        if [.serviceUnavailable, .tooManyRequests].contains(status) { headerFields[.retryAfter] = "1" }
    }
}
