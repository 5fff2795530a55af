// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Resilience
internal import Synchronization

package struct UpstreamTimeouts: Hashable, Sendable {
    /// The limit of one request, with a retry and both endpoints.
    package var deadline: Duration = .seconds(10)
    /// The time that a request waits for Apple if the request can be answered without Apple; at most the deadline.
    package var softTimeout: Duration = .seconds(4)

    package init() {}
}

/// Sends requests about genuine receipts to Apple, through the guards, to the right endpoint.
final class UpstreamClient: Sendable {
    struct Call: Sendable {
        let request: UpstreamRequest
        let api: UpstreamAPI
        /// The verifier of receipts in the answer.
        let verifier: LocalVerifier
        /// The request to the Server API; nil for `verifyReceipt`.
        var customer: CustomerRequest?
        var reservation: (any MemoryReservation)?

        /// The bytes of a call beside the evidence: the body in base64, and the HTTP library's copy.
        var callByteCount: Int { 2 * (request.sentByteCount / 3 * 4 + 256) }
    }

    private enum Attempt {
        case result(UpstreamResult)
        case otherEnvironment
        /// No answer; a retry may help.
        case retryable(DegradedReason)
    }

    private let connection: UpstreamConnection
    private let fleet: FleetPorts
    private let observe: UpstreamObserver
    private let clock: @Sendable () -> Timestamp
    /// The bytes of the receipts in requests, those that wait for a concurrency slot included.
    private let bytesHeld = Atomic(0)
    /// The limit: tens of thousands of small receipts, or some dozen of the largest.
    static let maximumBytesHeld = 256 << 20

    init(
        _ connection: UpstreamConnection, fleet: FleetPorts, observe: @escaping UpstreamObserver,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.connection = connection
        self.fleet = fleet
        self.observe = observe
        self.clock = clock
    }

    /// Tries the endpoints in order, as long as Apple refers to the next. The referral is not remembered: one
    /// customer's sandbox receipt must not redirect another customer's receipt.
    /// - Returns: the result, and Apple's last status code, if any.
    func result(about call: Call) async -> (result: UpstreamResult, status: Int?) {
        // The evidence twice: as sent, and as verified.
        let size = call.request.sentByteCount + (call.request.subject.evidence?.byteCount ?? 0)
        defer { bytesHeld.subtract(size, ordering: .relaxed) }
        guard bytesHeld.add(size, ordering: .relaxed).newValue <= Self.maximumBytesHeld else {
            return (.unanswered(.upstreamSaturated), nil)
        }
        let deadline = Instant.now + connection.timeouts.deadline
        guard let customer = call.customer, let customers = connection.customers else {
            return await send(call, by: deadline)
        }
        let result = await customers.purchases(customer, deadline: deadline)
        if case .answered(let answer) = result {
            reportUnreadable(in: answer, UpstreamEndpoint(.serverAPI, UpstreamEnvironment(answer.environment)))
        }
        return (result, nil)
    }

    private func reportUnreadable(in answer: UpstreamAnswer, _ endpoint: UpstreamEndpoint) {
        for item in answer.unreadable { observe(.leftOut(endpoint, item)) }
    }

    private func send(_ call: Call, by deadline: Instant) async -> (result: UpstreamResult, status: Int?) {
        var status: Int?
        connection.lifecycle.recordRequest(to: call.api.endpoint(of: call.request.subject), at: clock())
        for endpoint in call.api.endpoints {
            let attempt: Attempt
            (attempt, status) = await sendWithRetry(call, endpoint, by: deadline)
            switch attempt {
            case .result(let result): return (result, status)
            case .retryable(let reason): return (.unanswered(reason), status)
            // Each endpoint assigns the evidence to the other endpoint.
            case .otherEnvironment where endpoint == call.api.endpoints.last:
                observe(.contradicted(endpoint, .otherEnvironment))
            case .otherEnvironment: continue
            }
        }
        return (.unanswered(.upstreamContradiction), status)
    }

    /// Sends the request, and retries once if that may help and the retry budget allows it.
    private func sendWithRetry(
        _ call: Call, _ endpoint: UpstreamEndpoint, by deadline: Instant
    ) async -> (attempt: Attempt, status: Int?) {
        let start = Instant.now
        let first = await send(call, endpoint, by: deadline)
        guard case .retryable = first.attempt,
            let delay = connection.guards[endpoint].retryDelay(from: start, until: deadline),
            (try? await Task.sleep(for: delay)) != nil
        else { return first }
        observe(.retried(endpoint))
        return await send(call, endpoint, by: deadline)
    }

    private func send(
        _ call: Call, _ endpoint: UpstreamEndpoint, by deadline: Instant
    ) async -> (attempt: Attempt, status: Int?) {
        let upstreamGuard = connection.guards[endpoint], pass: UpstreamGuard.Pass
        do throws(DegradedReason) {
            pass = try await upstreamGuard.acquire(forCallBy: deadline, limiter: fleet.limiter)
        } catch {
            return (reject(error, endpoint), nil)
        }
        guard call.reservation?.grow(by: call.callByteCount) ?? true else {
            upstreamGuard.release(pass, .neutral, observe)
            return (reject(.upstreamSaturated, endpoint), nil)
        }
        defer { call.reservation?.shrink(by: call.callByteCount) }
        let response = await connection.upstream.send(call.request, at: endpoint, deadline: deadline)
        let attempt = record(response.reply, to: call, pass, endpoint)
        // Nothing of an answer that is not Apple's is repeated.
        if case .result(.unanswered(.upstreamContradiction)) = attempt { return (attempt, nil) }
        return (attempt, response.status)
    }

    private func reject(_ reason: DegradedReason, _ endpoint: UpstreamEndpoint) -> Attempt {
        observe(.rejected(endpoint, reason))
        return .result(.unanswered(reason))
    }

    /// Releases the pass with the reply's outcome, and informs the other nodes and the observer.
    private func record(
        _ reply: UpstreamReply, to call: Call, _ pass: UpstreamGuard.Pass, _ endpoint: UpstreamEndpoint
    ) -> Attempt {
        let took = pass.startedAt.duration(to: .now)
        observe(.completed(endpoint, UpstreamOutcome(reply), took: took))
        let attempt = interpret(reply, to: call, endpoint)
        let outcome = call.isCausedByClient(reply) ? Outcome.neutral : outcome(of: reply, attempt, took)
        connection.guards[endpoint].release(pass, outcome, pause: reply.pause, observe)
        if let pause = reply.pause { fleet.fleetState.publish(.pause(pause), of: endpoint) }
        return attempt
    }
}

// MARK: - Interpretation of replies

extension UpstreamClient {
    /// Interprets a reply. The evidence's signature was verified: a reply that denies it is a fault.
    private func interpret(_ reply: UpstreamReply, to call: Call, _ endpoint: UpstreamEndpoint) -> Attempt {
        switch reply {
        case .answer(let answer):
            reportUnreadable(in: answer, endpoint)
            let receipt = answerReceipt(of: answer, call.verifier)
            if let contradiction = answer.contradiction(to: call.request.subject, answerReceipt: receipt) {
                observe(.contradicted(endpoint, contradiction))
                return .result(.unanswered(.upstreamContradiction))
            }
            if answer.isUnproven(answerReceipt: receipt) { observe(.unproven(endpoint)) }
            return .result(.answered(answer))
        case .otherEnvironment: return .otherEnvironment
        case .refusal(.secretRejected): return .result(.unanswered(.sharedSecretRejected))
        case .refusal(.accountNotFound): return .result(.accountNotFound)
        case .refusal(.brokenRecord): return .result(.unanswered(.upstreamRecordBroken))
        case .refusal(let refusal):
            observe(.disagreed(endpoint, refusal))
            let reason: DegradedReason = refusal == .malformed ? .upstreamCallsMalformed : .upstreamDisagrees
            // Changed unsigned members are refused again.
            return call.sendsUnsignedMembers ? .result(.unanswered(reason)) : .retryable(reason)
        case .throttled: return .result(.unanswered(.upstreamPaused))
        case .failure(let failure) where failure.mayPass: return .retryable(DegradedReason(failure))
        case .failure(let failure): return .result(.unanswered(DegradedReason(failure)))
        }
    }

    private func answerReceipt(of answer: UpstreamAnswer, _ verifier: LocalVerifier) -> VerifiedEvidence? {
        guard let bytes = answer.latestReceipt,
            case .verified(let evidence) = verifier.verify(Evidence(receipt: bytes), at: clock())
        else { return nil }
        return evidence
    }

    /// Returns the outcome for the guard. Any usable answer is a success, even a negative answer.
    private func outcome(of reply: UpstreamReply, _ attempt: Attempt, _ took: Duration) -> Outcome {
        switch (reply, attempt) {
        case (.throttled, _): .throttled
        case (.failure(.stopping), _), (.failure(.answerTooLarge), _): .neutral
        case (.failure(let failure), _): .failure(failure.isConnectionFailure ? .hard : .soft, took: took)
        case (_, .retryable), (_, .result(.unanswered(.upstreamContradiction))): .failure(.soft, took: took)
        case (.answer, _), (.otherEnvironment, _), (.refusal, _): .success(took: took)
        }
    }
}

extension UpstreamClient.Call {
    /// Returns true if the client may have caused the reply, by its secret or by the unsigned members of a transaction
    /// receipt: a client must not open the circuit breaker.
    fileprivate func isCausedByClient(_ reply: UpstreamReply) -> Bool {
        guard request.sentSecret != nil || sendsUnsignedMembers else { return false }
        switch reply {
        case .refusal, .failure(.requestRefused): return true
        case .otherEnvironment: return sendsUnsignedMembers
        case .answer, .throttled, .failure: return false
        }
    }

    fileprivate var sendsUnsignedMembers: Bool { request.subject.evidence?.transactionReceipt != nil }
}

extension UpstreamReply {
    fileprivate var pause: Duration? {
        if case .throttled(let span) = self { span } else { nil }
    }
}

extension UpstreamFailure {
    /// True if no response came at all.
    package var isConnectionFailure: Bool {
        switch self {
        case .unreachable, .tls, .timeout, .reset: true
        case .serverError, .unusableAnswer, .answerTooLarge, .unavailable, .requestRefused, .stopping: false
        }
    }

    /// True if a retry may help.
    package var mayPass: Bool {
        switch self {
        case .unreachable, .timeout, .reset, .serverError, .unusableAnswer, .unavailable: true
        case .tls, .answerTooLarge, .requestRefused, .stopping: false
        }
    }
}
