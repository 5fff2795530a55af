// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import RateLimits
internal import Receipts
internal import Resilience
internal import Synchronization

/// How long Apple is waited for.
public struct UpstreamTimeouts: Hashable, Sendable {
    /// From a question to its answer, a retry and the way through both endpoints included.
    public var deadline: Duration = .seconds(10)
    /// How long a request that can be answered without Apple waits for it.
    public var softTimeout: Duration = .seconds(4)

    /// The defaults.
    public init() {}
}

/// Asks Apple about genuine receipts: each question once, through the guards, at the right endpoint.
final class UpstreamClient: Sendable {
    /// One question, and what it is judged by.
    struct Call: Sendable {
        let request: UpstreamRequest
        let api: UpstreamAPI
        /// The memory that is reserved for the evidence; nil without a limit.
        var reservation: (any MemoryReservation)?

        /// What a call takes beside the evidence: the body in base64, and the copy that the HTTP library makes of it.
        var callByteCount: Int { 2 * (request.sentByteCount / 3 * 4 + 256) }
    }

    /// What came of asking one endpoint.
    private enum Attempt {
        case result(UpstreamResult)
        case otherEnvironment
        /// Nothing; it may be asked again.
        case retryable(DegradedReason)
    }

    private let upstream: any Upstream
    private let verifier: ReceiptVerifier
    private let timeouts: UpstreamTimeouts
    private let limiter: any RateLimiter
    private let fleetState: any FleetState
    private let observer: any UpstreamObserver
    private let clock: @Sendable () -> Timestamp
    private let guards: UpstreamGuards
    /// Bytes of the receipts that are being asked about, those that wait for a place included.
    private let bytesHeld = Atomic(0)
    /// Small receipts by the ten thousand, or some dozen of the largest.
    static let maximumBytesHeld = 256 << 20

    init(
        _ upstream: any Upstream, guards: UpstreamGuards, verifier: ReceiptVerifier, timeouts: UpstreamTimeouts,
        limiter: any RateLimiter, fleetState: any FleetState, observer: any UpstreamObserver,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.upstream = upstream
        self.verifier = verifier
        self.timeouts = timeouts
        self.limiter = limiter
        self.fleetState = fleetState
        self.observer = observer
        self.clock = clock
        self.guards = guards
    }

    /// Asks one endpoint after the other, as long as Apple refers to the next one. Nothing is remembered of that: one
    /// customer's sandbox receipt must not redirect the next one's.
    /// - Returns: the finding, and Apple's last status code, if there was one.
    func result(about call: Call) async -> (result: UpstreamResult, status: Int?) {
        // As it was sent, and as it was verified.
        let size = call.request.sentByteCount + (call.request.subject.evidence?.byteCount ?? 0)
        defer { bytesHeld.subtract(size, ordering: .relaxed) }
        guard bytesHeld.add(size, ordering: .relaxed).newValue <= Self.maximumBytesHeld else {
            return (.unanswered(.upstreamSaturated), nil)
        }
        return await ask(call)
    }

    private func ask(_ call: Call) async -> (result: UpstreamResult, status: Int?) {
        let deadline = Instant.now + timeouts.deadline
        var status: Int?
        for endpoint in call.api.endpoints {
            let attempt: Attempt
            (attempt, status) = await askWithRetry(call, endpoint, by: deadline)
            switch attempt {
            case .result(let result): return (result, status)
            case .retryable(let reason): return (.unanswered(reason), status)
            // Each endpoint says that the evidence belongs to the other.
            case .otherEnvironment where endpoint == call.api.endpoints.last:
                observer.observe(.contradicted(endpoint, .otherEnvironment))
            case .otherEnvironment: continue
            }
        }
        return (.unanswered(.upstreamContradiction), status)
    }

    /// Asks, and once more if that may help and the budget for retries allows it.
    private func askWithRetry(
        _ call: Call, _ endpoint: UpstreamEndpoint, by deadline: Instant
    ) async -> (attempt: Attempt, status: Int?) {
        let start = Instant.now
        let first = await ask(call, endpoint, by: deadline)
        guard case .retryable = first.attempt,
            case .retry(let delay) = guards[endpoint].retry(from: start, until: deadline),
            (try? await Task.sleep(for: delay)) != nil
        else { return first }
        observer.observe(.retried(endpoint))
        return await ask(call, endpoint, by: deadline)
    }

    private func ask(
        _ call: Call, _ endpoint: UpstreamEndpoint, by deadline: Instant
    ) async -> (attempt: Attempt, status: Int?) {
        let upstreamGuard = guards[endpoint]
        // Who waits for a place until little time is left is cut short, and Apple would be blamed for it.
        let now = Instant.now
        switch await upstreamGuard.enter(by: now + now.duration(to: deadline) / 2, limiter: limiter) {
        case .rejected(let reason):
            observer.observe(.rejected(endpoint, reason))
            return (.result(.unanswered(reason)), nil)
        case .pass(let pass):
            guard call.reservation?.grow(by: call.callByteCount) ?? true else {
                _ = upstreamGuard.leave(pass, .neutral)
                observer.observe(.rejected(endpoint, .upstreamSaturated))
                return (.result(.unanswered(.upstreamSaturated)), nil)
            }
            defer { call.reservation?.shrink(by: call.callByteCount) }
            let response = await upstream.ask(call.request, at: endpoint, deadline: deadline)
            let attempt = learn(from: response.reply, to: call, pass, endpoint)
            // Of an answer that was not Apple's, nothing is repeated.
            if case .result(.unanswered(.upstreamContradiction)) = attempt { return (attempt, nil) }
            return (attempt, response.status)
        }
    }

    /// Hands the pass back with what the reply teaches, and tells the other nodes and the observer.
    private func learn(
        from reply: UpstreamReply, to call: Call, _ pass: UpstreamGuard.Pass, _ endpoint: UpstreamEndpoint
    ) -> Attempt {
        let took = pass.startedAt.duration(to: .now)
        observer.observe(.asked(endpoint, UpstreamOutcome(reply), took: took))
        let attempt = interpret(reply, to: call, endpoint)
        let outcome = call.mayBeToBlame(for: reply) ? Outcome.neutral : outcome(of: reply, attempt, took)
        let moves = guards[endpoint].leave(pass, outcome, pause: reply.pause)
        if let pause = reply.pause { fleetState.tell(.pause(pause), of: endpoint) }
        for (transition, times) in moves {
            for _ in 0..<times { observer.observe(.breakerMoved(endpoint, transition)) }
        }
        return attempt
    }
}

// MARK: - What a reply means

extension UpstreamClient {
    /// The evidence is genuine: its signature was verified. So who calls it false has a fault of its own.
    private func interpret(_ reply: UpstreamReply, to call: Call, _ endpoint: UpstreamEndpoint) -> Attempt {
        switch reply {
        case .answer(let answer):
            let carried = carried(by: answer)
            if let contradiction = answer.contradiction(to: call.request.subject, carried: carried) {
                observer.observe(.contradicted(endpoint, contradiction))
                return .result(.unanswered(.upstreamContradiction))
            }
            if answer.isUnproven(carried: carried) { observer.observe(.unproven(endpoint)) }
            return .result(.answered(answer))
        case .otherEnvironment: return .otherEnvironment
        case .refusal(.secretRejected): return .result(.unanswered(.sharedSecretRejected))
        case .refusal(.accountNotFound): return .result(.accountNotFound)
        case .refusal(.brokenRecord): return .result(.unanswered(.upstreamUnavailable))
        case .refusal(let refusal):
            observer.observe(.disagreed(endpoint, refusal))
            return .retryable(refusal == .malformed ? .upstreamCallsMalformed : .upstreamDisagrees)
        case .throttled: return .result(.unanswered(.upstreamPaused))
        case .failure(let failure) where failure.mayPass: return .retryable(DegradedReason(failure))
        case .failure(let failure): return .result(.unanswered(DegradedReason(failure)))
        }
    }

    /// The receipt that Apple signed for this answer; nil if there is none, or none that verifies.
    private func carried(by answer: UpstreamAnswer) -> VerifiedEvidence? {
        guard let bytes = answer.latestReceipt, let receipt = try? verifier.verify(bytes, at: clock()) else {
            return nil
        }
        return VerifiedEvidence(.appReceipt(receipt))
    }

    /// What the guard learns. An answer counts as a success whether or not the asker likes it.
    private func outcome(of reply: UpstreamReply, _ attempt: Attempt, _ took: Duration) -> Outcome {
        switch (reply, attempt) {
        case (.throttled, _): .throttled
        case (.failure(.stopping), _): .neutral
        case (.failure(let failure), _): .failure(failure.isHard ? .hard : .soft, took: took)
        case (_, .retryable), (_, .result(.unanswered(.upstreamContradiction))): .failure(.soft, took: took)
        case (.answer, _), (.otherEnvironment, _), (.refusal, _): .success(took: took)
        }
    }
}

extension UpstreamClient.Call {
    /// Whether the reply may be due to what the caller sent beside the receipt: nobody must be able to talk the breaker
    /// into leaving Apple alone.
    fileprivate func mayBeToBlame(for reply: UpstreamReply) -> Bool {
        guard request.callersSecret != nil else { return false }
        switch reply {
        case .refusal, .failure(.requestRefused): return true
        case .answer, .otherEnvironment, .throttled, .failure: return false
        }
    }
}

extension UpstreamReply {
    /// How long Apple asks to be left alone, if it does.
    fileprivate var pause: Duration? {
        if case .throttled(let span) = self { span } else { nil }
    }
}

extension UpstreamFailure {
    /// Whether nobody answered at all.
    fileprivate var isHard: Bool {
        switch self {
        case .unreachable, .tls, .timeout, .reset: true
        case .serverError, .unusableAnswer, .unavailable, .requestRefused, .stopping: false
        }
    }

    /// Whether the same question may be answered a moment later.
    fileprivate var mayPass: Bool {
        switch self {
        case .unreachable, .timeout, .reset, .serverError, .unusableAnswer, .unavailable: true
        case .tls, .requestRefused, .stopping: false
        }
    }
}
