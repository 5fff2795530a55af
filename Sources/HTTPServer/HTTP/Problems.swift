// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPTypes
internal import JSON

/// An error that says its own answer.
package protocol ProblemError: Error {
    var problem: Problem { get }
}

extension Problem: ProblemError {
    package var problem: Problem { self }
}

extension JSONFault: ProblemError {
    package var problem: Problem {
        var problem = Problem(.badRequest, .invalidBody, description)
        (problem.field, problem.position, problem.fault) = (field, position, rule.name)
        return problem
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

    // MARK: - Of the request

    /// Has the same text for every fault of the key.
    static let unauthenticated = Problem(
        .unauthorized, .unauthenticated, "A valid API key is required.",
        headerFields: [.wwwAuthenticate: #"Bearer realm="receipt-gateway""#])

    package static let onlyFromThisMachine = Problem(
        .forbidden, .operationNotPermitted, "Only loopback clients may do this. Connect to 127.0.0.1.")

    package static let notFound = Problem(.notFound, .notFound, "There is no resource at this path.")

    /// `Allow` is required with 405 (RFC 9110 §15.5.6).
    package static func methodNotAllowed(allowed: String) -> Problem {
        Problem(
            .methodNotAllowed, .methodNotAllowed, "This path allows only \(allowed).", headerFields: [.allow: allowed])
    }

    package static let unsupportedMediaType = Problem(
        .unsupportedMediaType, .unsupportedMediaType, "Send the body as application/json in UTF-8.")

    package static let notReady = Problem(
        .serviceUnavailable, .notReady, "The gateway is starting or stopping.", headerFields: [.retryAfter: "1"])

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
