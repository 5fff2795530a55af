// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Telemetry

/// A path of the data plane, or any other.
package enum RouteLabel: String, CaseIterable, Sendable {
    case verify = "/v1/verify"
    case verifyReceipt = "/verifyReceipt"
    case status = "/v1/status"
    case form = "/api"
    case encryptedForm = "/apiencrypted"
    case purge = "/v1/cache/transactions/{id}"
    case events = "/v1/events"
    case verifications = "/v1/verifications/{id}"
    case notifications = "/apple/notifications"
    case notificationsWithToken = "/apple/notifications/{token}"
    case signatures = "/v1/apple/{bundle_id}/signatures/{kind}"
    case appleProxy = "/v1/apple/{bundle_id}/{environment}/{call}"
    case ownership = "/v1/ownership/{original_transaction_id}"
    case erasures = "/v1/erasures"
    case keySet = "/.well-known/jwks.json"
    case validate = "/v1/validate"
    case purchaseVerify = "/v1/purchase/verify"
    case other

    /// True for the routes that the objectives for errors and latency are about. The form API answers 200 by default.
    package var isObjective: Bool {
        switch self {
        case .verify, .verifyReceipt, .validate, .purchaseVerify: true
        default: false
        }
    }
}

/// A method that some route takes, or any other.
enum MethodLabel: String, CaseIterable, Sendable {
    case delete = "DELETE"
    case get = "GET"
    case head = "HEAD"
    case options = "OPTIONS"
    case post = "POST"
    case put = "PUT"
    case other

    /// A switch in the order of use, because each request is counted.
    init(_ method: HTTPRequest.Method?) {
        switch method {
        case .post: self = .post
        case .get: self = .get
        case .delete: self = .delete
        case .head: self = .head
        case .options: self = .options
        case .put: self = .put
        default: self = .other
        }
    }
}

/// A status the gateway answers with, or any other.
struct CodeLabel: CaseIterable, Hashable, Sendable {
    private let code: Int?
    private static let codes = [
        200, 202, 204, 400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 417, 421, 422, 429, 431, 500, 501, 502, 503,
        504, 505,
    ]
    static let allCases = codes.map { CodeLabel(code: $0) } + [CodeLabel(code: nil)]

    private init(code: Int?) { self.code = code }

    init(_ status: HTTPResponse.Status) {
        code = Self.codes.contains(status.code) ? status.code : nil
    }

    var rawValue: String { code.map { String($0) } ?? "other" }
    var isServerError: Bool { code.map { $0 >= 500 } ?? false }
}

package struct AnswerLabels: SeriesLabels {
    package let route: RouteLabel
    let method: MethodLabel
    let code: CodeLabel

    static let labelNames = ["route", "method", "code"]
    var labelValues: [String] { [route.rawValue, method.rawValue, code.rawValue] }

    package static let allCases = RouteLabel.allCases.flatMap { route in
        MethodLabel.allCases.flatMap { method in
            CodeLabel.allCases.map { AnswerLabels(route: route, method: method, code: $0) }
        }
    }
}

/// The labels of an answer's duration. A histogram is many series, so only the class of the code is a label.
package struct DurationLabels: SeriesLabels {
    package enum CodeClass: String, CaseIterable, Sendable {
        case success = "2xx"
        case clientError = "4xx"
        case serverError = "5xx"

        /// Counts a code outside the list as a server error.
        init(_ code: CodeLabel) {
            self = Self.allCases.first { $0.rawValue.first == code.rawValue.first } ?? .serverError
        }
    }

    package let route: RouteLabel
    package let codeClass: CodeClass

    static let labelNames = ["route", "code_class"]
    var labelValues: [String] { [route.rawValue, codeClass.rawValue] }

    package static let allCases = RouteLabel.allCases.flatMap { route in
        CodeClass.allCases.map { DurationLabels(route: route, codeClass: $0) }
    }
}

extension DurationLabels {
    package init(_ answer: AnswerLabels) {
        self.init(route: answer.route, codeClass: CodeClass(answer.code))
    }
}
