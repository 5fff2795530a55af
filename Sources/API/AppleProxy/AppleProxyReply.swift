// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import JSON

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

    /// Creates the reply to a problem of the gateway's own, which is an error of Apple's, too: Apple's libraries read an
    /// error only from `application/json`.
    init(asApple problem: Problem, requestID: String) {
        var fields = problem.headerFields
        fields[.contentType] = "application/json"
        let body = problem.json(requestID: requestID) { json in
            json.member("errorCode", problem.appleErrorCode)
            json.member("errorMessage", problem.detail)
        }
        self.init(status: problem.status, fields: fields, body: ReplyBody(body))
    }

    private init(ofApple status: Int, _ body: [UInt8]) {
        var fields: HTTPFields = [.gatewaySource: Provenance.Source.serverAPI.rawValue, .cacheControl: "no-store"]
        if !body.isEmpty { fields[.contentType] = "application/json" }
        self.init(status: HTTPResponse.Status(code: status), fields: fields, body: ReplyBody(body))
    }
}

extension Problem {
    /// Apple's code for the error, which begins with a status, as an error without a code of Apple's does here.
    fileprivate var appleErrorCode: Int {
        switch (status.code, code) {
        case (400, .invalidCall):
            field.flatMap(ServerAPIParameter.init(rawValue:))?.errorCode ?? 4_000_000
        // Of Apple's two codes for its own faults, this one invites to a retry.
        case (500..., .upstreamDidNotAnswer), (500..., .overloaded), (500..., .notReady): 5_000_001
        case (500..., _): 5_000_000
        case (let status, _): status * 10_000
        }
    }
}

extension ServerAPIParameter {
    /// Apple's code for a malformed value.
    fileprivate var errorCode: Int {
        switch self {
        case .transactionID: 4_000_006
        case .originalTransactionID: 4_000_008
        case .requestIdentifier: 4_000_011
        case .testNotificationToken: 4_000_020
        case .locale: 4_000_164
        case .requestID: 4_000_212
        case .revision: 4_000_005
        case .paginationToken: 4_000_014
        case .startDate: 4_000_015
        case .endDate: 4_000_016
        case .sort: 4_000_021
        case .productType: 4_000_022
        case .productID: 4_000_023
        case .subscriptionGroupIdentifier: 4_000_024
        case .inAppOwnershipType: 4_000_026
        case .revoked: 4_000_030
        case .status: 4_000_031
        case .imageSize: 4_000_216
        case .orderID, .imageIdentifier, .messageIdentifier, .change: 4_000_000
        }
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
