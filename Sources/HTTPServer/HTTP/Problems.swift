// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
package import Gateway
internal import HTTPTypes
internal import JSON
internal import Customers
internal import Resilience
internal import Receipts
package import Settings

// The status and problem for every error that reaches the edge of the gateway. No other file knows HTTP statuses of
// errors.

extension Problem {
    /// Returns the problem for an error. An unknown error is the gateway's fault: 500, without internal details.
    package init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let fault as JSONFault: self.init(fault)
        case let error as GatewayError: self.init(error)
        case let fault as ServerAPICallFault: self.init(fault)
        case let rejection as NotificationRejection: self.init(rejection)
        case is StoreUnreachable: self = .storeUnreachable
        default: self.init(.internalServerError, .internalError, "Internal error in the gateway. Retry the request.")
        }
    }

    private init(_ fault: JSONFault) {
        self.init(.badRequest, .invalidBody, fault.description)
        field = fault.field
        position = fault.position
        self.fault = fault.rule.name
    }

    private init(_ fault: ServerAPICallFault) {
        switch fault {
        case .unknownPath: self = .notFound
        case .wrongMethod(let allowed):
            self = .methodNotAllowed(allowed: allowed == "GET" ? "GET, HEAD, OPTIONS" : "\(allowed), OPTIONS")
        case .malformedBody(let fault): self.init(fault)
        case .bodyTooLarge: self.init(.contentTooLarge, .bodyTooLarge, fault.description)
        case .invalidPathParameter, .queryTooLong, .tooManyQueryItems, .malformedQuery, .unknownQueryName,
            .repeatedQueryName, .invalidQueryValue, .queryValueRequired, .missingBody, .unexpectedBody:
            self.init(.badRequest, .invalidCall, fault.description)
        }
    }

    private init(_ error: GatewayError) {
        switch error {
        case .appNotPermitted:
            self.init(.forbidden, .appNotPermitted, "This client is not permitted to use this app.")
        case .appMissing:
            self.init(
                .badRequest, .invalidBody, "\"bundle_id\" is required with \"transaction_id\" unless you have one app.")
            (field, fault) = ("bundle_id", JSONFault.Rule.missingField.name)
        case .serverAPINotConfigured:
            self.init(
                .unprocessableContent, .serverAPINotConfigured,
                "The gateway has no App Store Server API key for this app. Send evidence, or configure a key.")
        case .rateLimited(let admission): self.init(admission)
        case .tooManyInFlight:
            self.init(.tooManyRequests, .quotaExceeded, "Concurrency limit exceeded. Retry later.")
            violatedPolicies = [ClientsFile.LimitBounds.concurrencyName]
            headerFields[.retryAfter] = "1"
        }
    }

    private init(_ admission: RateAdmission) {
        self.init(.tooManyRequests, .quotaExceeded, "Rate limit exceeded. Retry later.")
        violatedPolicies = admission.policies(where: \.isEnforcedRefusal)
        headerFields[.retryAfter] = admission.retryAfter.map { String(max(1, $0.secondsRoundedUp)) }
    }

    // MARK: - Of the request

    /// Has the same text for every fault of the key.
    static let unauthenticated = Problem(
        .unauthorized, .unauthenticated, "A valid API key is required.",
        headerFields: [.wwwAuthenticate: #"Bearer realm="receipt-gateway""#])

    package static func rightMissing(_ right: Client.Permission) -> Problem {
        Problem(
            .forbidden, .operationNotPermitted,
            "This client needs the right \"\(right.rawValue)\": may in the clients file.")
    }

    package static let onlyFromThisMachine = Problem(
        .forbidden, .operationNotPermitted, "Only loopback clients may do this. Connect to 127.0.0.1.")

    package static let invalidTransactionID = Problem(
        .badRequest, .invalidTransactionID, "A transaction ID consists of \(TransactionIDForm.description).")

    package static func appleRightMissing(_ right: Client.AppleRight) -> Problem {
        Problem(
            .forbidden, .operationNotPermitted,
            "This client needs the right \"\(right.rawValue)\" for this app: apple in the clients file.")
    }

    static let storeUnreachable = Problem(
        .serviceUnavailable, .storeUnreachable, "The shared store is unreachable. Retry later.",
        headerFields: [.retryAfter: "1"])

    package static let notFound = Problem(.notFound, .notFound, "There is no resource at this path.")

    /// `Allow` is required with 405 (RFC 9110 §15.5.6).
    static func methodNotAllowed(allowed: String) -> Problem {
        Problem(
            .methodNotAllowed, .methodNotAllowed, "This path allows only \(allowed).", headerFields: [.allow: allowed])
    }

    package static let unsupportedMediaType = Problem(
        .unsupportedMediaType, .unsupportedMediaType, "Send the body as application/json in UTF-8.")

    package static let notAForm = Problem(
        .unsupportedMediaType, .unsupportedMediaType, "Send the body as application/x-www-form-urlencoded.")

    package static let notReady = Problem(
        .serviceUnavailable, .notReady, "The gateway is starting or stopping.", headerFields: [.retryAfter: "1"])

    // MARK: - Of Apple

    /// Returns the problem for a call of the App Store Server API without an answer.
    /// - Parameters:
    ///   - retryAfter: the time after which the same call may be made again; nil if it is not known.
    ///   - mayHaveTakenEffect: true for a change that Apple may have carried out.
    package static func unanswered(
        _ reason: DegradedReason, retryAfter: Duration?, mayHaveTakenEffect: Bool
    ) -> Problem {
        var problem = Problem(reason.status, reason.code(mayHaveTakenEffect), reason.detail(mayHaveTakenEffect))
        problem.fault = reason.rawValue
        guard !mayHaveTakenEffect else { return problem }
        let passesSoon = [.serviceUnavailable, .tooManyRequests].contains(reason.status)
        if let seconds = retryAfter?.secondsRoundedUp ?? (passesSoon ? 1 : nil) {
            problem.headerFields[.retryAfter] = String(max(1, seconds))
        }
        return problem
    }

    // MARK: - Of the connection

    /// Returns the problem for a refusal by the edge, before a request is complete.
    init(_ refusal: EdgeRefusal, bodyLimit: ByteCount) {
        switch refusal {
        case .unauthenticated: self = .unauthenticated
        case .malformed: self.init(.badRequest, .malformedRequest, "This is not a valid HTTP/1.1 request.")
        case .version:
            self.init(.httpVersionNotSupported, .versionNotSupported, "Send the request in HTTP/1.1.")
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
        case .foreignOrigin:
            self.init(.forbidden, .foreignOrigin, "Pages of other sites may not send this request.")
        case .tooManyOfAddress:
            self.init(
                .tooManyRequests, .quotaExceeded, "Too many requests of this address are in flight. Retry later.")
        case .headerTooLarge:
            self.init(.requestHeaderFieldsTooLarge, .headerTooLarge, "The header is larger than this server accepts.")
        case .bodyTooLarge:
            self.init(.contentTooLarge, .bodyTooLarge, "The body is larger than \(bodyLimit.configurationText).")
        case .bodyTooFragmented:
            self.init(.badRequest, .malformedRequest, "The request body comes in too many small chunks.")
        case .headersLate: self.init(.requestTimeout, .requestTimeout, "The request header took too long to arrive.")
        case .bodyLate: self.init(.requestTimeout, .requestTimeout, "The request body took too long to arrive.")
        case .overloaded: self.init(.serviceUnavailable, .overloaded, "Too many request bodies in flight. Retry later.")
        case .answerLate: self.init(.serviceUnavailable, .answerTimeout, "The answer took too long. Retry later.")
        case .expectation: self.init(.expectationFailed, .expectationFailed, "Expect supports only 100-continue.")
        }
        if [.serviceUnavailable, .tooManyRequests].contains(status) { headerFields[.retryAfter] = "1" }
    }
}

extension DegradedReason {
    fileprivate func code(_ mayHaveTakenEffect: Bool) -> Problem.Code {
        if mayHaveTakenEffect { return .outcomeUnknown }
        return self == .serverAPIKeyRejected ? .serverAPIKeyRejected : .upstreamDidNotAnswer
    }

    fileprivate func detail(_ mayHaveTakenEffect: Bool) -> String {
        if mayHaveTakenEffect {
            return "Apple may have carried out the change. Read the customer's state before you retry."
        }
        return switch self {
        case .serverAPIKeyRejected: "Apple rejects the app's key, or the app was never released in this environment."
        case .upstreamContradiction: "Apple's answer was refused: it is not signed, or not for this app."
        case .upstreamBudget: "The app's quota at Apple is used up. Retry later."
        case .upstreamPaused: "Apple requested a pause, or the app's quota at Apple is used up. Retry later."
        default: "Apple did not answer. Retry later."
        }
    }
}
