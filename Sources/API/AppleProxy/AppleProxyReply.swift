// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import HTTPServer
internal import HTTPTypes

extension Reply {
    /// Creates the reply to a call: Apple's status and body, unchanged.
    /// - Parameter mayHaveTakenEffect: true for a change that Apple may have carried out.
    init(_ result: ServerAPIResult, mayHaveTakenEffect: Bool = false) throws(Problem) {
        switch result {
        case .answered(let answer): self.init(ofApple: answer.httpStatus, answer.body)
        case .refused(_, let httpStatus, let body): self.init(ofApple: httpStatus, body)
        case .unauthorized:
            throw .unanswered(.serverAPIKeyRejected, retryAfter: nil, mayHaveTakenEffect: false)
        case .unanswered(let reason, let retryAfter, _):
            throw .unanswered(reason, retryAfter: retryAfter, mayHaveTakenEffect: mayHaveTakenEffect)
        }
    }

    private init(ofApple status: Int, _ body: [UInt8]) {
        var fields: HTTPFields = [.gatewaySource: Provenance.Source.serverAPI.rawValue, .cacheControl: "no-store"]
        if !body.isEmpty { fields[.contentType] = "application/json" }
        self.init(status: HTTPResponse.Status(code: status), fields: fields, body: ReplyBody(body))
    }
}

extension ServerAPIResult {
    /// False if Apple certainly did not carry out the call. A change that may have taken effect must not be repeated
    /// unseen, and cached results about it are out of date.
    var mayHaveTakenEffect: Bool {
        switch self {
        case .answered: true
        case .refused, .unauthorized: false
        case .unanswered(_, _, let mayHaveTakenEffect): mayHaveTakenEffect
        }
    }

    /// The word of the metrics if Apple answered, else the reason, which is more exact than they are.
    var outcome: String {
        switch self {
        case .answered: ServerAPICallOutcome.answered.rawValue
        case .refused(_, httpStatus: 404, _): ServerAPICallOutcome.notFound.rawValue
        case .refused: ServerAPICallOutcome.refused.rawValue
        case .unauthorized: ServerAPICallOutcome.unauthorized.rawValue
        case .unanswered(let reason, _, _): reason.rawValue
        }
    }

    /// Apple's status; nil if its answer is neither passed on nor a 401.
    var httpStatus: Int? {
        switch self {
        case .answered(let answer): answer.httpStatus
        case .refused(_, let httpStatus, _): httpStatus
        case .unauthorized: 401
        case .unanswered: nil
        }
    }

    var errorCode: Int64? {
        if case .refused(let error, _, _) = self { error.code } else { nil }
    }
}
