// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import HTTPTypes

extension DegradedReason {
    /// The status of a gateway without an answer.
    var status: HTTPResponse.Status {
        switch self {
        case .upstreamPaused, .upstreamBudget: .tooManyRequests
        case .upstreamSlow, .upstreamTimeout: .gatewayTimeout
        case .upstreamUnreachable, .upstreamTLS, .upstreamReset, .upstreamUnusableAnswer, .upstreamRequestRefused,
            .upstreamItemUnreadable, .upstreamAnswerTooLarge, .upstreamContradiction, .upstreamCallsMalformed,
            .upstreamDisagrees,
            .upstreamRecordBroken, .sharedSecretRejected, .serverAPIKeyRejected, .customerLimit, .transactionUnknown:
            .badGateway
        case .circuitOpen, .upstreamSaturated, .upstreamServerError, .upstreamUnavailable, .stopping,
            .sharedStoreUnreachable:
            .serviceUnavailable
        }
    }
}

extension Problem {
    /// Returns the problem for a call of the App Store Server API without an answer.
    /// - Parameters:
    ///   - retryAfter: the time after which the same call may be made again; nil if it is not known.
    ///   - mayHaveTakenEffect: true for a change that Apple may have carried out.
    static func unanswered(
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
