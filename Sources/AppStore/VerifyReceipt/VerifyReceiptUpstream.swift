// SPDX-License-Identifier: Apache-2.0

package import Cryptography
package import Gateway
internal import HTTPClient
package import Logging
internal import Receipts

package struct VerifyReceiptUpstream: Upstream {
    private let production: VerifyReceiptEndpoint
    private let sandbox: VerifyReceiptEndpoint
    private let secrets: @Sendable (String?) -> Secret?
    private let recorder: LifecycleRecorder
    private let log: VerifyReceiptLog
    private let follow: RequestTracer

    /// - Parameters:
    ///   - secrets: returns the current shared secret of an app, or of the account.
    ///   - lifecycle: records Apple's announcements about its endpoints.
    ///   - fleetState: publishes these announcements to the other nodes.
    package init(
        production: VerifyReceiptEndpoint, sandbox: VerifyReceiptEndpoint,
        secrets: @escaping @Sendable (String?) -> Secret?, lifecycle: UpstreamLifecycle, fleetState: any FleetState,
        logger: Logger, follow: @escaping RequestTracer
    ) {
        self.production = production
        self.sandbox = sandbox
        self.secrets = secrets
        recorder = LifecycleRecorder(lifecycle: lifecycle, fleetState: fleetState)
        log = VerifyReceiptLog(logger: logger)
        self.follow = follow
    }

    package func secret(forApp bundleID: String?) -> Secret? { secrets(bundleID) }

    package func send(
        _ request: UpstreamRequest, at endpoint: UpstreamEndpoint, deadline: ContinuousClock.Instant
    ) async -> UpstreamResponse {
        // `UpstreamAPI` chooses `verifyReceipt` for receipts only.
        guard let receipt = request.subject.evidence?.receiptBytes else {
            return UpstreamResponse(.failure(.requestRefused))
        }
        let request = VerifyReceiptRequest(
            receipt: receipt,
            sharedSecret: request.sentSecret ?? secret(forApp: request.subject.bundleID),
            excludesOldTransactions: request.excludesOldTransactions)
        var response = UpstreamResponse(.failure(.stopping))
        await follow(endpoint, "POST") {
            let httpStatus: Int?
            (response, httpStatus) = await exchange(request, endpoint, deadline: deadline)
            return RequestSummary(UpstreamOutcome(response.reply), httpStatus: httpStatus)
        }
        return response
    }

    private func exchange(
        _ request: VerifyReceiptRequest, _ endpoint: UpstreamEndpoint, deadline: ContinuousClock.Instant
    ) async -> (UpstreamResponse, httpStatus: Int?) {
        do throws(VerifyReceiptFailure) {
            let server = endpoint.environment == .production ? production : sandbox
            let reply = try await server.send(request, deadline: deadline)
            recorder.record(reply.head, of: endpoint, isUsable: true)
            log.answered(reply, to: request, endpoint)
            let response = UpstreamResponse(
                UpstreamReply(reply.response, from: endpoint.environment, at: reply.head.receivedAt),
                status: reply.response.status.code)
            return (response, reply.head.httpStatus)
        } catch {
            if let head = error.head { recorder.record(head, of: endpoint, isUsable: false) }
            log.failed(error, about: request, endpoint)
            return (UpstreamResponse(UpstreamReply(error)), error.head?.httpStatus)
        }
    }
}

extension UpstreamAnswer {
    /// - Parameter now: the time of Apple's answer.
    init?(_ response: VerifyReceiptResponse, from environment: UpstreamEnvironment, at now: Timestamp) {
        guard let receipt = response.receipt else { return nil }
        let latestReceipt = response.latestReceipt.flatMap { try? Base64.decode(Array($0.utf8).span) }
        self.init(
            environment: response.environment ?? Environment(environment),
            bundleID: receipt.bundleID,
            transactions: response.transactions.merged(), renewals: response.pendingRenewalInfo,
            latestReceipt: latestReceipt, body: response.body)
        leaveOut(response.unreadable, at: now)
    }
}

extension [Transaction] {
    /// Merges transactions with the same ID: the first transaction stays, with the refund of any other.
    fileprivate func merged() -> [Transaction] {
        var merged: [Transaction] = []
        var indices: [String: Int] = [:]
        for transaction in self {
            merged.add(transaction, &indices) { known in
                guard known.cancellationDate == nil, let date = transaction.cancellationDate else { return }
                (known.cancellationDate, known.cancellationReason) = (date, transaction.cancellationReason)
            }
        }
        return merged
    }
}

extension UpstreamReply {
    init(_ response: VerifyReceiptResponse, from environment: UpstreamEnvironment, at now: Timestamp) {
        switch response.status {
        case .valid, .subscriptionExpired:
            self = UpstreamAnswer(response, from: environment, at: now).map(Self.answer) ?? .failure(.unusableAnswer)
        case .sandboxReceipt: self = environment == .sandbox ? .failure(.unusableAnswer) : .otherEnvironment
        case .productionReceipt: self = environment == .production ? .failure(.unusableAnswer) : .otherEnvironment
        case .malformedOrTemporary: self = .refusal(.malformed)
        case .notAuthenticated: self = .refusal(.notAuthenticated)
        case .wrongSharedSecret: self = .refusal(.secretRejected)
        case .accountNotFound: self = .refusal(.accountNotFound)
        case .serverUnavailable, .dataAccess: self = .failure(.unavailable)
        case .internalDataAccess:
            self = response.isRetryable == false ? .refusal(.brokenRecord) : .failure(.unavailable)
        case .notPOST, .discontinued: self = .failure(.requestRefused)
        case .unknown: self = .failure(.unusableAnswer)
        }
    }

    init(_ failure: VerifyReceiptFailure) {
        switch failure {
        case .transport(let error): self = .failure(UpstreamFailure(error))
        case .throttled(let head): self = .throttled(head.pauseAfterThrottling)
        case .serverError(let head): self = head.pauseWhileUnavailable.map(Self.throttled) ?? .failure(.serverError)
        case .unexpectedStatus: self = .failure(.requestRefused)
        case .unusable(.tooLarge, _): self = .failure(.answerTooLarge)
        case .unusable: self = .failure(.unusableAnswer)
        }
    }
}

extension UpstreamFailure {
    init(_ error: TransportError) {
        self =
            switch error {
            case .resolve, .connect, .proxy, .forbiddenAddress, .tooManyRequests, .internal: .unreachable
            case .tlsVerification, .trustStore: .tls
            case .timeout: .timeout
            // A handshake also fails when the connection ends in it. It says nothing about a certificate.
            case .reset, .protocolViolation, .tlsHandshake: .reset
            case .tooLarge: .answerTooLarge
            case .invalidURL, .insecureURL, .invalidHeader: .requestRefused
            case .cancelled, .shuttingDown: .stopping
            }
    }
}
