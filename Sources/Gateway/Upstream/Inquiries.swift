// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import RateLimits
internal import Receipts
internal import Resilience
internal import Synchronization

/// How long Apple is waited for.
public struct UpstreamPatience: Hashable, Sendable {
    /// From a question to its answer, a retry and the way through both endpoints included.
    public var deadline: Duration = .seconds(10)
    /// How long a request that can be answered without Apple waits for it.
    public var whenLocalSuffices: Duration = .seconds(4)

    /// The defaults.
    public init() {}
}

/// Asks Apple about genuine receipts: each question once, through the guards, at the right endpoint.
final class Inquiries: Sendable {
    /// One question, and what it is judged by.
    struct Inquiry: Sendable {
        let question: UpstreamQuestion
        let api: UpstreamAPI
        /// The memory that is reserved for the evidence; nil without a limit.
        var reservation: (any MemoryReservation)?

        /// What a call takes beside the evidence: the body in base64, and the copy that the HTTP library makes of it.
        var callByteCount: Int { 2 * (question.sentByteCount / 3 * 4 + 256) }
    }

    /// What came of asking one endpoint.
    private enum Attempt {
        case finding(Finding)
        case otherEnvironment
        /// Nothing; it may be asked again.
        case retryable(DegradedReason)
    }

    private let upstream: any Upstream
    private let verifier: ReceiptVerifier
    private let patience: UpstreamPatience
    private let limiter: any RateLimiter
    private let notes: any FleetNotes
    private let observer: any GatewayObserver
    private let clock: @Sendable () -> Timestamp
    private let guards: UpstreamGuards
    /// Bytes of the receipts that are being asked about, those that wait for a place included.
    private let bytesHeld = Atomic(0)
    /// Small receipts by the ten thousand, or some dozen of the largest.
    static let maximumBytesHeld = 256 << 20

    init(
        _ upstream: any Upstream, guards: UpstreamGuards, verifier: ReceiptVerifier, patience: UpstreamPatience,
        limiter: any RateLimiter, notes: any FleetNotes, observer: any GatewayObserver,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.upstream = upstream
        self.verifier = verifier
        self.patience = patience
        self.limiter = limiter
        self.notes = notes
        self.observer = observer
        self.clock = clock
        self.guards = guards
    }

    /// Asks one endpoint after the other, as long as Apple refers to the next one. Nothing is remembered of that: one
    /// customer's sandbox receipt must not redirect the next one's.
    /// - Returns: the finding, and Apple's last status code, if there was one.
    func finding(about inquiry: Inquiry) async -> (finding: Finding, status: Int?) {
        // As it was sent, and as it was verified.
        let size = inquiry.question.sentByteCount + (inquiry.question.subject.evidence?.byteCount ?? 0)
        defer { bytesHeld.subtract(size, ordering: .relaxed) }
        guard bytesHeld.add(size, ordering: .relaxed).newValue <= Self.maximumBytesHeld else {
            return (.unanswered(.upstreamSaturated), nil)
        }
        return await ask(inquiry)
    }

    private func ask(_ inquiry: Inquiry) async -> (finding: Finding, status: Int?) {
        let deadline = Instant.now + patience.deadline
        var status: Int?
        for endpoint in inquiry.api.endpoints {
            let attempt: Attempt
            (attempt, status) = await askPatiently(inquiry, endpoint, by: deadline)
            switch attempt {
            case .finding(let finding): return (finding, status)
            case .retryable(let reason): return (.unanswered(reason), status)
            // Each endpoint says that the evidence belongs to the other.
            case .otherEnvironment where endpoint == inquiry.api.endpoints.last:
                observer.observe(.contradicted(endpoint, .otherEnvironment))
            case .otherEnvironment: continue
            }
        }
        return (.unanswered(.upstreamContradiction), status)
    }

    /// Asks, and once more if that may help and the budget for retries allows it.
    private func askPatiently(
        _ inquiry: Inquiry, _ endpoint: UpstreamEndpoint, by deadline: Instant
    ) async -> (attempt: Attempt, status: Int?) {
        let start = Instant.now
        let first = await ask(inquiry, endpoint, by: deadline)
        guard case .retryable = first.attempt,
            case .retry(let delay) = guards[endpoint].retry(from: start, until: deadline),
            (try? await Task.sleep(for: delay)) != nil
        else { return first }
        observer.observe(.retried(endpoint))
        return await ask(inquiry, endpoint, by: deadline)
    }

    private func ask(
        _ inquiry: Inquiry, _ endpoint: UpstreamEndpoint, by deadline: Instant
    ) async -> (attempt: Attempt, status: Int?) {
        let upstreamGuard = guards[endpoint]
        // Who waits for a place until little time is left is cut short, and Apple would be blamed for it.
        let now = Instant.now
        switch await upstreamGuard.enter(by: now + now.duration(to: deadline) / 2, limiter: limiter) {
        case .heldBack(let reason):
            observer.observe(.heldBack(endpoint, reason))
            return (.finding(.unanswered(reason)), nil)
        case .pass(let pass):
            guard inquiry.reservation?.grow(by: inquiry.callByteCount) ?? true else {
                _ = upstreamGuard.leave(pass, .neutral)
                observer.observe(.heldBack(endpoint, .upstreamSaturated))
                return (.finding(.unanswered(.upstreamSaturated)), nil)
            }
            defer { inquiry.reservation?.shrink(by: inquiry.callByteCount) }
            let response = await upstream.ask(inquiry.question, at: endpoint, deadline: deadline)
            let attempt = learn(from: response.reply, to: inquiry, pass, endpoint)
            // Of an answer that was not Apple's, nothing is repeated.
            if case .finding(.unanswered(.upstreamContradiction)) = attempt { return (attempt, nil) }
            return (attempt, response.status)
        }
    }

    /// Hands the pass back with what the reply teaches, and tells the other nodes and the observer.
    private func learn(
        from reply: UpstreamReply, to inquiry: Inquiry, _ pass: UpstreamGuard.Pass, _ endpoint: UpstreamEndpoint
    ) -> Attempt {
        let took = pass.startedAt.duration(to: .now)
        observer.observe(.asked(endpoint, UpstreamOutcome(reply), took: took))
        let attempt = interpret(reply, to: inquiry, endpoint)
        let outcome = inquiry.mayBeToBlame(for: reply) ? Outcome.neutral : outcome(of: reply, attempt, took)
        let moves = guards[endpoint].leave(pass, outcome, pause: reply.pause)
        if let pause = reply.pause { notes.tell(.pause(pause), of: endpoint) }
        for (transition, times) in moves {
            for _ in 0..<times { observer.observe(.breakerMoved(endpoint, transition)) }
        }
        return attempt
    }
}

// MARK: - What a reply means

extension Inquiries {
    /// The evidence is genuine: its signature was verified. So who calls it false has a fault of its own.
    private func interpret(_ reply: UpstreamReply, to inquiry: Inquiry, _ endpoint: UpstreamEndpoint) -> Attempt {
        switch reply {
        case .answer(let answer):
            let carried = carried(by: answer)
            if let contradiction = answer.contradiction(to: inquiry.question.subject, carried: carried) {
                observer.observe(.contradicted(endpoint, contradiction))
                return .finding(.unanswered(.upstreamContradiction))
            }
            if answer.isUnproven(carried: carried) { observer.observe(.unproven(endpoint)) }
            return .finding(.answered(answer))
        case .otherEnvironment: return .otherEnvironment
        case .refusal(.secretRejected): return .finding(.unanswered(.sharedSecretRejected))
        case .refusal(.accountNotFound): return .finding(.accountNotFound)
        case .refusal(.brokenRecord): return .finding(.unanswered(.upstreamUnavailable))
        case .refusal(let refusal):
            observer.observe(.disagreed(endpoint, refusal))
            return .retryable(refusal == .malformed ? .upstreamCallsMalformed : .upstreamDisagrees)
        case .throttled: return .finding(.unanswered(.upstreamPaused))
        case .failure(let failure) where failure.mayPass: return .retryable(DegradedReason(failure))
        case .failure(let failure): return .finding(.unanswered(DegradedReason(failure)))
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
        case (_, .retryable), (_, .finding(.unanswered(.upstreamContradiction))): .failure(.soft, took: took)
        case (.answer, _), (.otherEnvironment, _), (.refusal, _): .success(took: took)
        }
    }
}

extension Inquiries.Inquiry {
    /// Whether the reply may be due to what the caller sent beside the receipt: nobody must be able to talk the breaker
    /// into leaving Apple alone.
    fileprivate func mayBeToBlame(for reply: UpstreamReply) -> Bool {
        guard question.callersSecret != nil else { return false }
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
