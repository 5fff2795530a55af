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

    fileprivate var detail: String {
        switch self {
        case .serverAPIKeyRejected: "Apple rejects the app's key, or the app was never released in this environment."
        case .upstreamContradiction: "Apple's answer was refused: it is not signed, or not for this app."
        case .upstreamBudget: "The app's quota at Apple is used up. Retry later."
        case .upstreamPaused: "Apple requested a pause, or the app's quota at Apple is used up. Retry later."
        default: "Apple did not answer. Retry later."
        }
    }
}

extension Problem {
    /// Returns the problem for a call of the App Store Server API without an answer.
    /// - Parameter retryAfter: the time after which the same call may be made again; nil if it is not known.
    static func unanswered(
        _ reason: DegradedReason, retryAfter: Duration?, mayHaveTakenEffect: Bool
    ) -> Problem {
        guard !mayHaveTakenEffect else {
            return Problem(
                reason.status, .outcomeUnknown,
                "Apple may have carried out the change. Read the customer's state before you retry.",
                fault: reason.rawValue)
        }
        let code: Code = reason == .serverAPIKeyRejected ? .serverAPIKeyRejected : .upstreamDidNotAnswer
        var problem = Problem(reason.status, code, reason.detail, fault: reason.rawValue)
        let passesSoon = [.serviceUnavailable, .tooManyRequests].contains(reason.status)
        if let seconds = retryAfter?.secondsRoundedUp ?? (passesSoon ? 1 : nil) {
            problem.headerFields[.retryAfter] = String(max(1, seconds))
        }
        return problem
    }
}
