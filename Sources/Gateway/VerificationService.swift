// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// Decides verifications.
///
/// ```
/// request ──▶ limits ──▶ known? ──▶ verify locally ──▶ may the client know? ──▶ AppleDesk ──▶ answer
///               │ used up    │ fresh     │ forged                                   │ not needed, or no help
///               └──▶ error   └──▶ again  └──▶ rejected                              └──▶ what the receipt says
/// ```
///
/// Whoever may have to wait does so in two places only: for tokens that the store must give, and for what the fleet or
/// Apple knows. Up to there a decision takes microseconds and suspends nowhere, so an event loop can make it.
public final class VerificationService: Sendable {
    private let verifier: ReceiptVerifier
    private let freshness: FreshnessPolicy
    private let apple: AppleDesk?
    private let rates: any RateLimiter
    private let places: any InFlightLimiter
    private let onVerification: (@Sendable (Duration, Rule?) -> Void)?

    /// - Parameters:
    ///   - verifier: knows the trust anchors.
    ///   - freshness: how long answers may be repeated.
    ///   - apple: asks Apple; nil answers from receipts alone.
    ///   - rates: holds the token buckets of clients.
    ///   - places: counts the requests of clients that are in flight.
    ///   - onVerification: told how long each verification here took, and which rule the receipt breaks.
    public init(
        verifier: ReceiptVerifier, freshness: FreshnessPolicy = FreshnessPolicy(), apple: AppleDesk? = nil,
        rates: any RateLimiter = EmbeddedRateLimiter(), places: any InFlightLimiter = EmbeddedInFlightLimiter(),
        onVerification: (@Sendable (Duration, Rule?) -> Void)? = nil
    ) {
        self.verifier = verifier
        self.freshness = freshness
        self.apple = apple
        self.rates = rates
        self.places = places
        self.onVerification = onVerification
    }

    /// What became of a request.
    public enum Outcome: Sendable {
        /// A new answer.
        case answered(Answer)
        /// The answer that was known holds, and is to be given again.
        case repeated
    }

    /// How far a request has come.
    public enum Progress: Sendable {
        case finished(Outcome)
        /// Somebody has to be waited for; the rest of the way.
        case waiting(@Sendable () async throws(GatewayError) -> Outcome)

        /// The end of the way.
        public func outcome() async throws(GatewayError) -> Outcome {
            switch self {
            case .finished(let outcome): outcome
            case .waiting(let rest): try await rest()
            }
        }
    }

    /// Goes as far as is possible without waiting.
    ///
    /// - Parameters:
    ///   - request: the question.
    ///   - known: what was answered before to the same question about the same evidence.
    ///   - now: the moment that entitlements are seen from.
    /// - Throws: `GatewayError` if the client may not ask now, or may not know the answer.
    public func begin(
        _ request: VerificationRequest, knowing known: KnownAnswer? = nil, at now: Timestamp
    ) throws(GatewayError) -> Progress {
        try request.question.checkExpectedApp(for: request.caller)
        try enter(request.caller.inFlight)
        do throws(GatewayError) {
            let progress = try admit(request, knowing: known, at: now)
            guard case .waiting(let rest) = progress else {
                leave(request.caller.inFlight)
                return progress
            }
            return .waiting { () async throws(GatewayError) in
                defer { self.leave(request.caller.inFlight) }
                return try await rest()
            }
        } catch {
            leave(request.caller.inFlight)
            throw error
        }
    }

    /// Whether a known answer may be given again to the same question about the same evidence, whoever asks.
    ///
    /// - Returns: false if it is no longer fresh, or if tokens would have to be waited for; then nothing was taken.
    /// - Throws: `GatewayError` if the client may not ask now, or may not know the answer.
    public func repeats(
        _ known: KnownAnswer, to question: Question, from caller: Caller, at now: Timestamp
    ) throws(GatewayError) -> Bool {
        guard known.holds(for: question, at: now) else { return false }
        try question.checkExpectedApp(for: caller)
        try enter(caller.inFlight)
        defer { leave(caller.inFlight) }
        guard try admitAtOnce(caller) else { return false }
        try known.checkApp(for: caller)
        return true
    }

    // MARK: - Limits

    /// Refuses a caller whose charges are known to be refused, or who has as many requests in flight as it may: for a
    /// request whose body is not read yet. Takes nothing.
    public func refuseIfLimited(_ caller: Caller) throws(GatewayError) {
        try enter(caller.inFlight)
        leave(caller.inFlight)
        guard !caller.charges.isEmpty, let refusal = rates.knownRefusal(of: caller.charges) else { return }
        try heed(refusal, caller)
    }

    /// Charges a caller for a request that asks nothing that can be answered.
    /// - Returns: the rest of it if the store has to be asked; nil if nothing is left to do.
    /// - Throws: `GatewayError` if the client may not ask now.
    public func charge(_ caller: Caller) throws(GatewayError) -> (@Sendable () async throws(GatewayError) -> Void)? {
        if try admitAtOnce(caller) { return nil }
        return { () async throws(GatewayError) in
            try self.heed(await self.rates.admit(caller.charges), caller)
        }
    }

    private func enter(_ limit: InFlightLimit?) throws(GatewayError) {
        guard let limit else { return }
        guard places.enter(limit) else { throw .tooManyInFlight }
    }

    private func leave(_ limit: InFlightLimit?) {
        if let limit { places.leave(limit) }
    }

    private func admit(
        _ request: VerificationRequest, knowing known: KnownAnswer?, at now: Timestamp
    ) throws(GatewayError) -> Progress {
        if try admitAtOnce(request.caller) { return try decide(request, knowing: known, at: now) }
        return .waiting { () async throws(GatewayError) in
            try self.heed(await self.rates.admit(request.caller.charges), request.caller)
            return try await self.decide(request, knowing: known, at: now).outcome()
        }
    }

    /// False if the store has to be asked; then nothing was taken.
    private func admitAtOnce(_ caller: Caller) throws(GatewayError) -> Bool {
        guard !caller.charges.isEmpty else { return true }
        guard let admission = rates.admitAtOnce(caller.charges) else { return false }
        try heed(admission, caller)
        return true
    }

    private func heed(_ admission: RateAdmission, _ caller: Caller) throws(GatewayError) {
        caller.onAdmission(admission)
        guard admission.isAdmitted else { throw .rateLimited(admission) }
    }

    // MARK: - Decisions

    /// What is forged or broken ends here: it never reaches Apple.
    private func decide(
        _ request: VerificationRequest, knowing known: KnownAnswer?, at now: Timestamp
    ) throws(GatewayError) -> Progress {
        if let known, known.holds(for: request.question, at: now) {
            try known.checkApp(for: request.caller)
            return .finished(.repeated)
        }
        let receipt: VerifiedReceipt
        do throws(ReceiptError) {
            receipt = try verifyLocally(request.evidence, at: now)
        } catch {
            return .finished(.answered(rejected(error.rule, at: now)))
        }
        let expectations = request.question.expectations
        if let rule = expectations.ruleBroken(byAppOf: receipt) {
            return .finished(.answered(rejected(rule, at: now)))
        }
        // Before anything else is compared: what differs would already tell a stranger that the receipt is genuine.
        try request.caller.check(mayAskAbout: receipt.bundleID)
        if let rule = expectations.ruleBroken(byInstallationOf: receipt) {
            // Not to be repeated: only who may know of the app may know that much of its receipt.
            return .finished(.answered(rejected(rule, at: now, until: now)))
        }
        return answer(
            to: Assessment(receipt, for: request, at: now, policy: freshness, skew: verifier.policy.clockSkew))
    }

    private func answer(to assessment: Assessment) -> Progress {
        let mode = assessment.request.question.mode
        guard mode != .local, let apple else {
            return .finished(
                .answered(mode == .apple ? assessment.undecided(.upstreamNotConfigured) : assessment.local()))
        }
        switch apple.begin(assessment) {
        case .answer(let answer): return .finished(.answered(answer))
        case .ask(let key): return .waiting { .answered(await apple.answer(assessment, key)) }
        }
    }

    private func verifyLocally(_ evidence: Evidence, at now: Timestamp) throws(ReceiptError) -> VerifiedReceipt {
        guard let onVerification else { return try verify(evidence, at: now) }
        let start = ContinuousClock.now
        do throws(ReceiptError) {
            let receipt = try verify(evidence, at: now)
            onVerification(.now - start, nil)
            return receipt
        } catch {
            onVerification(.now - start, error.rule)
            throw error
        }
    }

    private func verify(_ evidence: Evidence, at now: Timestamp) throws(ReceiptError) -> VerifiedReceipt {
        switch evidence {
        case .appReceipt(let bytes): try verifier.verify(bytes, at: now)
        }
    }

    private func rejected(_ rule: Rule, at now: Timestamp, until end: Timestamp? = nil) -> Answer {
        // A creation date does not stay in the future.
        let usual = rule == .creationDateInFuture ? now : now.advanced(by: freshness.rejected)
        return Answer(
            .rejected(.rule(rule)), Provenance(source: .local, cache: .miss, verifiedAt: now), freshUntil: end ?? usual)
    }
}

extension Expectations {
    fileprivate func ruleBroken(byAppOf receipt: VerifiedReceipt) -> Rule? {
        guard let bundleID, !receipt.isIssued(forBundleID: bundleID) else { return nil }
        return .bundleIDMismatch
    }

    fileprivate func ruleBroken(byInstallationOf receipt: VerifiedReceipt) -> Rule? {
        do throws(ReceiptError) {
            if let applicationVersion { try receipt.check(applicationVersion: applicationVersion) }
            if let deviceIdentifier { try receipt.check(deviceIdentifier: deviceIdentifier) }
            return nil
        } catch {
            return error.rule
        }
    }
}

extension Question {
    /// Throws `.appNotPermitted` unless the client may ask about the app that it names; one that names none may ask.
    public func checkExpectedApp(for caller: Caller) throws(GatewayError) {
        guard let bundleID = expectations.bundleID else { return }
        guard caller.permittedApps.contains(bundleID) else { throw .appNotPermitted }
    }
}

extension Caller {
    /// The receipt's app is what counts, whatever app the client named.
    func check(mayAskAbout bundleID: String) throws(GatewayError) {
        guard permittedApps.contains(bundleID) else { throw .appNotPermitted }
    }
}
