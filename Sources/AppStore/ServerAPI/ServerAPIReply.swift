// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPClient
internal import JSON
internal import Resilience

/// The reply to one call, sent once.
enum ServerAPIReply: Sendable {
    case answered(ServerAPIAnswer)
    case refused(ServerAPIError, httpStatus: Int, body: [UInt8])
    /// 4xx without Apple's error code.
    case refusedWithoutCode
    case unauthorized
    /// 429: the quota is used up.
    case throttled(Duration)
    /// 503 with a wait: the host pauses.
    case unavailable(Duration)
    case contradiction(Contradiction)
    case failed(UpstreamFailure, mayHaveBeenSent: Bool)

    init(_ error: TransportError) {
        self = .failed(UpstreamFailure(error), mayHaveBeenSent: error.mayFollowSending)
    }

    init(_ response: TransportResponse, _ head: ReplyHead, to call: ServerAPICall, by verifier: ServerAPIAnswerVerifier)
    {
        switch response.status {
        case 200...299: self.init(answer: response, to: call, by: verifier)
        case 401: self = .unauthorized
        case 429: self = .throttled(head.pauseAfterThrottling)
        case 400...499:
            self =
                ServerAPIError(parsing: response.body).map { error in
                    .refused(error, httpStatus: response.status, body: response.body)
                } ?? .refusedWithoutCode
        case 500...599:
            self =
                head.pauseWhileUnavailable.map(Self.unavailable)
                ?? .failed(.serverError, mayHaveBeenSent: true)
        default: self = .failed(.requestRefused, mayHaveBeenSent: true)
        }
    }

    private init(answer: TransportResponse, to call: ServerAPICall, by verifier: ServerAPIAnswerVerifier) {
        do throws(ServerAPIAnswerFault) {
            self = .answered(
                try verifier.answer(httpStatus: answer.status, body: answer.body, to: call))
        } catch {
            switch error {
            case .unusable(.tooLarge): self = .failed(.answerTooLarge, mayHaveBeenSent: true)
            case .unusable: self = .failed(.unusableAnswer, mayHaveBeenSent: true)
            case .contradiction(let contradiction): self = .contradiction(contradiction)
            }
        }
    }
}

extension ServerAPIError {
    private enum Limits {
        static let bytes = 64 << 10
    }

    /// Reads the code of an error's body; nil without a code.
    init?(parsing body: [UInt8]) {
        let limits = JSONValue.Limits(bytes: Limits.bytes, depth: 4, values: 100)
        guard let json = try? JSONValue(parsing: body, limits: limits), let code = json["errorCode"]?.number?.integer
        else { return nil }
        self.init(code: code)
    }
}

extension TransportError {
    /// False if certainly no byte of the request was sent. The library does not say how far a broken connection came.
    var mayFollowSending: Bool {
        switch self {
        case .invalidURL, .insecureURL, .invalidHeader, .tooManyRequests, .resolve, .forbiddenAddress, .connect,
            .timeout(.connecting):
            false
        case .proxy, .tlsHandshake, .tlsVerification, .trustStore, .timeout(.answering), .reset, .tooLarge,
            .protocolViolation, .cancelled, .shuttingDown, .internal:
            true
        }
    }
}

// MARK: - Consequences

extension ServerAPIReply {
    /// Returns true if the same call may be made again at the same host, and this may help. A call that changes
    /// something is never repeated once Apple may have it.
    func mayBeRetried(_ effect: ServerAPIOperation.Effect) -> Bool {
        switch self {
        case .failed(let failure, let mayHaveBeenSent): failure.mayPass && (effect == .reads || !mayHaveBeenSent)
        case .refused(let error, _, _): effect == .reads && error.mayPass
        case .answered, .refusedWithoutCode, .unauthorized, .throttled, .unavailable, .contradiction: false
        }
    }

    /// The outcome for the guard. An app's key or quota says nothing about the host, and clients send what is refused.
    func guardOutcome(after took: Duration) -> Outcome {
        switch self {
        case .answered, .refused, .refusedWithoutCode: .success(took: took)
        case .unauthorized, .throttled, .failed(.stopping, _), .failed(.answerTooLarge, _): .neutral
        case .unavailable: .throttled
        case .contradiction: .failure(.soft, took: took)
        case .failed(let failure, _): .failure(failure.isConnectionFailure ? .hard : .soft, took: took)
        }
    }

    var outcome: UpstreamOutcome {
        switch self {
        case .refused(let error, _, _) where error.saysAccountNotFound: .refused(.accountNotFound)
        // A tampered answer is counted by itself, too.
        case .answered, .refused, .contradiction: .answered
        case .unauthorized: .refused(.notAuthenticated)
        case .throttled, .unavailable: .throttled
        case .refusedWithoutCode: .failed(.requestRefused)
        case .failed(let failure, _): .failed(failure)
        }
    }

    var callOutcome: ServerAPICallOutcome {
        switch self {
        case .answered: .answered
        case .refused(_, httpStatus: 404, _): .notFound
        case .refused, .refusedWithoutCode, .failed(.requestRefused, _): .refused
        case .unauthorized: .unauthorized
        case .throttled: .throttled
        case .unavailable, .failed(.serverError, _), .failed(.unavailable, _): .serverError
        case .contradiction: .tampered
        case .failed(.unusableAnswer, _), .failed(.answerTooLarge, _): .unusable
        case .failed: .failed
        }
    }

    /// - Parameter key: the key that signed the token.
    func result(for key: ServerAPIKey) -> ServerAPIResult {
        switch self {
        case .answered(let answer): .answered(answer)
        case .refused(let error, let httpStatus, let body): .refused(error, httpStatus: httpStatus, body: body)
        case .refusedWithoutCode: .unanswered(.upstreamRequestRefused, mayHaveTakenEffect: true)
        case .unauthorized: .unauthorized(key)
        case .throttled(let span): .unanswered(.upstreamPaused, retryAfter: span)
        case .unavailable(let span): .unanswered(.upstreamUnavailable, retryAfter: span, mayHaveTakenEffect: true)
        case .contradiction: .unanswered(.upstreamContradiction, mayHaveTakenEffect: true)
        case .failed(let failure, let mayHaveBeenSent):
            .unanswered(DegradedReason(failure), mayHaveTakenEffect: mayHaveBeenSent)
        }
    }

    /// True if Apple accepted the token.
    var provesKey: Bool {
        switch self {
        case .answered, .refused: true
        default: false
        }
    }
}

extension ServerAPIError {
    /// True if Apple's documentation recommends a retry.
    package var mayPass: Bool { [4_040_002, 4_040_004, 4_040_006].contains(code) }

    var saysAccountNotFound: Bool { code == 4_040_001 }

    /// True if the other environment may know the transaction or the app.
    var mayBeOtherEnvironment: Bool { [4_040_001, 4_040_003, 4_040_005, 4_040_010, 4_040_019].contains(code) }

    /// True if the host does not know the app.
    var saysAppNotFound: Bool { code == 4_040_003 }

    /// True if App Store Connect has no URL for notifications of this app and environment.
    var saysNoNotificationURL: Bool { code == 4_040_007 }

    /// True if the test notification is not known, or not yet.
    var saysTestNotificationNotFound: Bool { code == 4_040_008 }

    /// True if no transaction has an ID of this form.
    var saysInvalidID: Bool { code == 4_000_006 }

    /// True if the revision is not one of this customer's history.
    var saysInvalidRevision: Bool { code == 4_000_005 }
}
