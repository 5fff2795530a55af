// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import HTTPTransport
internal import Receipts

/// Apple's `verifyReceipt` as the gateway's upstream.
struct VerifyReceiptUpstream: Upstream {
    /// Where Apple is asked.
    let production: VerifyReceiptEndpoint
    let sandbox: VerifyReceiptEndpoint
    /// The names of the servers.
    let hosts: [UpstreamEnvironment: String]
    /// What Apple is asked with, as it stands now.
    let access: CurrentAccess
    /// Told what Apple announces about the endpoints' end.
    let lifecycle: UpstreamLifecycle
    /// Tells the other nodes.
    let notes: any FleetNotes
    /// One line for each question.
    let log: UpstreamLog
    /// One span for each question.
    let tracing: RequestTracing

    func secret(forApp bundleID: String) -> Gateway.SharedSecret? {
        access.now.rules.secrets.secret(forApp: bundleID).map { Gateway.SharedSecret($0.exposed) }
    }

    func ask(
        _ question: UpstreamQuestion, in environment: UpstreamEnvironment, deadline: ContinuousClock.Instant
    ) async -> UpstreamReply {
        let context = RequestContext.current
        context?.record { $0.upstream = UpstreamFacts(environment: environment.rawValue) }
        let start = ContinuousClock.now
        let reply = await tracing.asking(environment, at: hosts[environment]) {
            await exchange(question, environment, deadline: deadline)
        }
        let took = ContinuousClock.now - start
        context?.record {
            $0.upstream = UpstreamFacts(
                environment: environment.rawValue, outcome: UpstreamOutcome(reply).name, took: took)
        }
        return reply
    }

    private func exchange(
        _ question: UpstreamQuestion, _ environment: UpstreamEnvironment, deadline: ContinuousClock.Instant
    ) async -> UpstreamExchange {
        let request = request(question)
        do throws(VerifyReceiptFailure) {
            let reply = try await endpoint(of: environment).ask(request, deadline: deadline)
            learn(from: reply.head, of: environment)
            log.answered(reply, to: request, environment)
            return UpstreamExchange(
                reply: UpstreamReply(reply.response, from: environment), httpStatus: reply.head.httpStatus)
        } catch {
            if let head = error.head { learn(from: head, of: environment) }
            log.failed(error, asking: request, environment)
            return UpstreamExchange(reply: UpstreamReply(error), httpStatus: error.head?.httpStatus)
        }
    }

    private func endpoint(of environment: UpstreamEnvironment) -> VerifyReceiptEndpoint {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        }
    }

    private func request(_ question: UpstreamQuestion) -> VerifyReceiptRequest {
        let secret = question.callersSecret ?? secret(forApp: question.bundleID)
        return VerifyReceiptRequest(
            receipt: question.receipt, sharedSecret: secret.map { AppStore.SharedSecret($0.exposed) },
            excludesOldTransactions: question.excludesOldTransactions)
    }

    private func learn(from head: ReplyHead, of environment: UpstreamEnvironment) {
        let announcements = head.announcements
        let dates = LifecycleDates(
            // Deprecated already, nobody says since when: as long as anybody remembers. Not the second 0, which stands in
            // the metrics for an endpoint that is not deprecated.
            deprecation: announcements.deprecation.map { deprecation in
                switch deprecation {
                case .dated(let date): date
                case .undated: Timestamp(millisecondsSince1970: 1000)
                }
            }, sunset: announcements.sunset)
        let links = announcements.links.compactMap { LifecycleLink($0) }
        guard lifecycle.learn(dates, links: links, of: environment) else { return }
        notes.tell(.lifecycle(dates, links: links), of: environment)
    }
}

// MARK: - What came back

extension UpstreamReply {
    /// What an answer of Apple's means to the gateway.
    init(_ response: VerifyReceiptResponse, from environment: UpstreamEnvironment) {
        switch response.status.meaning {
        case .genuine, .expired:
            self = UpstreamAnswer(response, from: environment).map(Self.answer) ?? .failure(.unusableAnswer)
        case .ask(let other): self = other == environment.environment ? .failure(.unusableAnswer) : .otherEnvironment
        case .malformed: self = .refusal(.malformed)
        case .notAuthenticated: self = .refusal(.notAuthenticated)
        case .credentials: self = .refusal(.secretRejected)
        case .accountGone: self = .refusal(.accountNotFound)
        case .unavailable:
            let passes = response.status.isRetryable(appleSays: response.isRetryable, verifiedLocally: true)
            self = passes ? .failure(.unavailable) : .refusal(.brokenRecord)
        case .ourMistake: self = .failure(.requestRefused)
        case .unknown: self = .failure(.unusableAnswer)
        }
    }

    /// Why there is no answer.
    init(_ failure: VerifyReceiptFailure) {
        switch failure {
        case .transport(let error): self = .failure(UpstreamFailure(error))
        case .throttled(let head): self = .throttled(head.retryAfter ?? Self.pauseIfApplesIsUnknown)
        case .serverError(let head): self = head.pauseWhileUnavailable.map(Self.throttled) ?? .failure(.serverError)
        case .unexpectedStatus: self = .failure(.requestRefused)
        case .unusable: self = .failure(.unusableAnswer)
        }
    }

    private static let pauseIfApplesIsUnknown: Duration = .seconds(5)
}

extension ReplyHead {
    /// How long Apple asks to wait with 503 (RFC 9110 §15.6.4); nil if it does not, or if it may be asked again at once.
    fileprivate var pauseWhileUnavailable: Duration? {
        guard httpStatus == 503, let retryAfter, retryAfter > .zero else { return nil }
        return retryAfter
    }
}

extension UpstreamFailure {
    /// Sorts what went wrong on the way.
    init(_ error: TransportError) {
        self =
            switch error {
            case .resolve, .connect, .proxy, .forbiddenAddress: .unreachable
            case .tlsHandshake, .tlsVerification, .trustStore: .tls
            case .timeout: .timeout
            case .reset, .protocolViolation: .reset
            case .tooLarge: .unusableAnswer
            case .invalidURL, .insecureURL, .invalidHeader: .requestRefused
            case .tooManyRequests, .internal: .unreachable
            case .cancelled, .shuttingDown: .stopping
            }
    }
}

extension UpstreamEnvironment {
    /// The environment whose receipts the endpoint knows.
    var environment: Environment {
        switch self {
        case .production: .production
        case .sandbox: .sandbox
        }
    }
}
