// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Resilience

// The statuses of the errors of `Gateway`, `AppStore` and the shared store.

extension GatewayError: ProblemError {
    package var problem: Problem {
        switch self {
        case .appNotPermitted: Problem(.forbidden, .appNotPermitted, "This client is not permitted to use this app.")
        case .appMissing: .appMissing
        case .serverAPINotConfigured:
            Problem(
                .unprocessableContent, .serverAPINotConfigured,
                "The gateway has no App Store Server API key for this app. Send evidence, or configure a key.")
        case .rateLimited(let admission): .rateLimited(admission)
        case .tooManyInFlight: .tooManyInFlight
        }
    }
}

extension ServerAPICallFault: ProblemError {
    package var problem: Problem {
        switch self {
        case .unknownPath: .notFound
        case .wrongMethod(let allowed):
            .methodNotAllowed(allowed: allowed == "GET" ? "GET, HEAD, OPTIONS" : "\(allowed), OPTIONS")
        case .malformedBody(let fault): fault.problem
        case .bodyTooLarge: Problem(.contentTooLarge, .bodyTooLarge, description)
        case .invalidPathParameter, .queryTooLong, .tooManyQueryItems, .malformedQuery, .unknownQueryName,
            .repeatedQueryName, .invalidQueryValue, .queryValueRequired, .missingBody, .unexpectedBody:
            Problem(.badRequest, .invalidCall, description)
        }
    }
}

extension StoreUnreachable: ProblemError {
    package var problem: Problem { .storeUnreachable }
}

extension Problem {
    fileprivate static var appMissing: Problem {
        var problem = Problem(
            .badRequest, .invalidBody, "\"bundle_id\" is required with \"transaction_id\" unless you have one app.")
        (problem.field, problem.fault) = ("bundle_id", JSONFault.Rule.missingField.name)
        return problem
    }

    fileprivate static func rateLimited(_ admission: RateAdmission) -> Problem {
        var problem = Problem(.tooManyRequests, .quotaExceeded, "Rate limit exceeded. Retry later.")
        problem.violatedPolicies = admission.policies(where: \.isEnforcedRefusal)
        problem.headerFields[.retryAfter] = admission.retryAfter.map { String(max(1, $0.secondsRoundedUp)) }
        return problem
    }

    fileprivate static var tooManyInFlight: Problem {
        var problem = Problem(
            .tooManyRequests, .quotaExceeded, "Concurrency limit exceeded. Retry later.",
            headerFields: [.retryAfter: "1"])
        problem.violatedPolicies = [ClientsFile.LimitBounds.concurrencyName]
        return problem
    }

    static func rightMissing(_ right: Client.Permission) -> Problem {
        Problem(
            .forbidden, .operationNotPermitted,
            "This client needs the right \"\(right.rawValue)\": may in the clients file.")
    }

    static let invalidTransactionID = Problem(
        .badRequest, .invalidTransactionID, "A transaction ID consists of \(TransactionIDForm.description).")

    static func appleRightMissing(_ right: Client.AppleRight) -> Problem {
        Problem(
            .forbidden, .operationNotPermitted,
            "This client needs the right \"\(right.rawValue)\" for this app: apple in the clients file.")
    }

    static let storeUnreachable = Problem(
        .serviceUnavailable, .storeUnreachable, "The shared store is unreachable. Retry later.",
        headerFields: [.retryAfter: "1"])

    static let notAForm = Problem(
        .unsupportedMediaType, .unsupportedMediaType, "Send the body as application/x-www-form-urlencoded.")
}
