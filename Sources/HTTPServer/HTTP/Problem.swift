// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
internal import JSON

/// An error as the client sees it: problem details (RFC 9457).
///
/// `type` is `about:blank` unless IANA has registered a type, so `title` is the status phrase. `code` distinguishes
/// problems of one status; programs should evaluate it.
package struct Problem: Error, Hashable, Sendable {
    package let status: HTTPResponse.Status
    package let code: Code
    /// The fault of this request, for people. Never contains a part of a value that was sent.
    package let detail: String
    package var field: String?
    /// The position of the fault in the body, in bytes from 0.
    package var position: Int?
    package var fault: String?
    package var violatedPolicies: [String] = []
    /// Header fields of the answer: `Allow`, `Retry-After`, `WWW-Authenticate`.
    package var headerFields: HTTPFields

    package init(_ status: HTTPResponse.Status, _ code: Code, _ detail: String, headerFields: HTTPFields = [:]) {
        self.status = status
        self.code = code
        self.detail = detail
        self.headerFields = headerFields
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
    }

    static let contentType = "application/problem+json"

    func json(requestID: String?) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("type", code.type)
            json.member("title", status.reasonPhrase)
            json.member("status", status.code)
            json.member("detail", detail)
            json.member("code", code.rawValue)
            json.member("fault", fault)
            json.member("field", field)
            json.member("position", position)
            // The member that IANA's registry defines for `quota-exceeded`.
            if !violatedPolicies.isEmpty {
                json.key("violated-policies")
                json.array { json in
                    for name in violatedPolicies { json.string(name) }
                }
            }
            json.member("request_id", requestID)
        }
        return json.bytes
    }
}

extension Problem.Code {
    /// IANA's registry of HTTP problem types defines two of ours.
    fileprivate var type: String {
        let registry = "https://iana.org/assignments/http-problem-types"
        return switch self {
        case .overloaded: "\(registry)#temporary-reduced-capacity"
        case .quotaExceeded: "\(registry)#quota-exceeded"
        default: "about:blank"
        }
    }
}
