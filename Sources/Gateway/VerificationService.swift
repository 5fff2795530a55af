// SPDX-License-Identifier: Apache-2.0

package import Receipts
package import Resilience

/// Verifies evidence, looks up transactions, and answers requests.
///
/// ```
/// request ──▶ verify locally ──▶ app permitted? ──▶ NotifiedStates ──▶ UpstreamVerification ──▶ answer
///                  │ forged                              │ states of     │ not needed, or failed
///                  └──▶ rejected                         │ notifications └──▶ evidence
///                                                        └──▶ evidence with these states
/// ```
///
/// Local verification takes microseconds for each item and never suspends, so it can run on an event loop. Only shared
/// state and requests to Apple are awaited.
package final class VerificationService: Sendable {
    private let verifier: CurrentVerifier
    private let rules: EvaluationRules
    private let states: NotifiedStates?
    private let apple: UpstreamVerification?
    private let comparisons: AnswerComparisons?
    private let onVerification: (@Sendable (Duration, Rule?) -> Void)?

    /// - Parameters:
    ///   - lateRenewal: the time for which the renewal of a subscription may be late.
    ///   - states: what notifications have reported; nil if none are received.
    ///   - apple: nil if no requests are sent to Apple.
    ///   - comparisons: receives all answers; nil if none is compared.
    ///   - onVerification: receives the duration of each local verification, and the rule that the evidence breaks.
    package init(
        verifier: CurrentVerifier, freshness: FreshnessPolicy = FreshnessPolicy(),
        lateRenewal: Duration = SubscriptionTimeline.Limits.lateRenewal,
        states: NotifiedStates? = nil, apple: UpstreamVerification? = nil,
        comparisons: AnswerComparisons? = nil,
        onVerification: (@Sendable (Duration, Rule?) -> Void)? = nil
    ) {
        rules = EvaluationRules(
            freshness: freshness, clockSkew: verifier.now.policy.clockSkew, lateRenewal: lateRenewal)
        (self.verifier, self.states, self.apple) = (verifier, states, apple)
        self.comparisons = comparisons
        self.onVerification = onVerification
    }

    /// Answers an admitted request. Forged or broken evidence is rejected here and never sent to Apple.
    /// - Parameter now: the time at which entitlements are evaluated.
    /// - Throws: `GatewayError` if the client may not see the answer.
    package func answer(_ request: VerificationRequest, at now: Timestamp) throws -> Step<Answer, any Error> {
        let verifier = verifier.local
        switch request.subject {
        case .evidence(let evidence): return try verify(evidence, for: request, at: now, by: verifier)
        case .transactionID(let id): return try lookUp(id, for: request, at: now, by: verifier)
        }
    }

    private func verify(
        _ evidence: Evidence, for request: VerificationRequest, at now: Timestamp, by verifier: LocalVerifier
    ) throws -> Step<Answer, any Error> {
        switch verifyLocally(evidence, at: now, by: verifier) {
        case .verified(let evidence): try evaluate(evidence, for: request, at: now, by: verifier)
        case .rejected(let rule): .done(rejected(rule, at: now))
        case .itemsRejected(let items, nil): .done(rejected(items[0].rule, at: now).replacing(rejectedItems: items))
        // The other items are answered from what is signed: the gateway sends Apple no request about a rejected item.
        case .itemsRejected(let items, let others?):
            try evaluate(others, for: request.local, at: now, by: verifier).map { $0.rejected(because: items) }
        }
    }

    private func evaluate(
        _ evidence: VerifiedEvidence, for request: VerificationRequest, at now: Timestamp, by verifier: LocalVerifier
    ) throws -> Step<Answer, any Error> {
        let expectations = request.options.expectations
        if let rule = expectations.ruleBroken(byAppOf: evidence) { return .done(rejected(rule, at: now)) }
        // Before other comparisons: a difference would reveal to any client that the evidence is genuine.
        // The signed app, whatever app the client named. Evidence without an app is for clients that may use all.
        try request.client.permittedApps.require(evidence.bundleID)
        if let rule = expectations.ruleBroken(byInstallationOf: evidence) {
            // Not repeated: only a client that may use the app may learn this about its evidence.
            return .done(rejected(rule, at: now, until: now))
        }
        let evaluated = EvaluatedRequest(.signed(evidence), for: request, at: now, by: verifier, rules: rules)
        guard let comparisons, comparisons.isSampled() else { return try answer(evaluated) }
        return try answer(evaluated).map { answer in
            comparisons.offer(answer, to: evaluated)
            return answer
        }
    }

    private func lookUp(
        _ transactionID: String, for request: VerificationRequest, at now: Timestamp, by verifier: LocalVerifier
    ) throws -> Step<Answer, any Error> {
        let bundleID = try app(ofLookup: request.options, by: request.client)
        let subject = VerificationSubject.lookup(bundleID: bundleID, transactionID: transactionID)
        return try answer(EvaluatedRequest(subject, for: request, at: now, by: verifier, rules: rules))
    }

    /// Returns the app of a request without evidence: the named app, else the client's only app.
    /// - Throws: `GatewayError` if there is none, the client may not use it, or there is no key for it.
    package func app(ofLookup options: VerificationOptions, by client: RequestClient) throws(GatewayError) -> String {
        guard let bundleID = options.expectations.bundleID ?? client.permittedApps.only else { throw .appMissing }
        try client.permittedApps.require(bundleID)
        guard apple?.hasServerAPIKey(forApp: bundleID) == true else { throw .serverAPINotConfigured }
        return bundleID
    }

    private func answer(_ evaluated: EvaluatedRequest) throws -> Step<Answer, any Error> {
        let mode = evaluated.request.options.mode, hasEvidence = evaluated.subject.evidence != nil
        // Without evidence, mode `local` is answered from the cache of Apple's answers.
        guard mode != .local || !hasEvidence else { return .done(evaluated.withoutUpstream(.upstreamNotConfigured)) }
        let isAppleAsked = { [apple] in apple?.isAsked(about: evaluated) ?? false }
        guard let states, hasEvidence, mode == .auto || (mode == .appleFirst && !isAppleAsked()) else {
            return askApple(evaluated)
        }
        return try states.answer(to: evaluated, isAppleAsked: isAppleAsked) { self.askApple($0) }
    }

    private func askApple(_ evaluated: EvaluatedRequest) -> Step<Answer, any Error> {
        if let apple { return apple.answer(to: evaluated) }
        return .done(
            states?.answerWithoutUpstream(to: evaluated) ?? evaluated.withoutUpstream(.upstreamNotConfigured))
    }

    private func verifyLocally(
        _ evidence: Evidence, at now: Timestamp, by verifier: LocalVerifier
    ) -> LocalVerification {
        guard let onVerification else { return verifier.verify(evidence, at: now) }
        let start = ContinuousClock.now
        let verification = verifier.verify(evidence, at: now)
        onVerification(.now - start, verification.brokenRule)
        return verification
    }

    private func rejected(_ rule: Rule, at now: Timestamp, until end: Timestamp? = nil) -> Answer {
        // A date does not stay in the future.
        let passes = [.creationDateInFuture, .signedDateInFuture, .purchaseDateInFuture].contains(rule)
        let usual = passes ? now : now.advanced(by: rules.freshness.rejected)
        return Answer(
            verdict: .rejected(.rule(rule)), provenance: Provenance(source: .local, cache: .miss, verifiedAt: now),
            freshUntil: end ?? usual)
    }
}

extension Expectations {
    fileprivate func ruleBroken(byAppOf evidence: VerifiedEvidence) -> Rule? {
        guard let bundleID else { return nil }
        let isIssued = evidence.bundleID.map { $0.utf8.elementsEqual(bundleID.utf8) } ?? false
        return isIssued ? nil : .bundleIDMismatch
    }

    fileprivate func ruleBroken(byInstallationOf evidence: VerifiedEvidence) -> Rule? {
        do throws(ReceiptError) {
            if let applicationVersion { try evidence.check(applicationVersion: applicationVersion) }
            if let deviceIdentifier { try evidence.check(deviceIdentifier: deviceIdentifier) }
            return nil
        } catch {
            return error.rule
        }
    }
}

extension VerifiedEvidence {
    /// Throws unless an item was signed for this version of the app. Transactions name none.
    fileprivate func check(applicationVersion: String) throws(ReceiptError) {
        if let receipt { return try receipt.check(applicationVersion: applicationVersion) }
        let signed = transactionReceipt?.applicationVersion ?? appTransaction?.applicationVersion
        guard signed.map({ $0.utf8.elementsEqual(applicationVersion.utf8) }) ?? false else {
            throw ReceiptError(.appVersionMismatch)
        }
    }

    /// Throws unless the items were signed for this device. Items without a verification value go with any device, but
    /// at least one item must have the value.
    fileprivate func check(deviceIdentifier: [UInt8]) throws(ReceiptError) {
        if let receipt { return try receipt.check(deviceIdentifier: deviceIdentifier) }
        if let transactionReceipt { return try transactionReceipt.check(deviceIdentifier: deviceIdentifier) }
        let verifications = items.compactMap(\.deviceVerification)
        guard !verifications.isEmpty, verifications.allSatisfy({ $0.isOf(deviceIdentifier: deviceIdentifier) }) else {
            throw ReceiptError(.deviceHashMismatch)
        }
    }
}

extension VerificationRequest {
    fileprivate var local: VerificationRequest { with { $0.mode = .local } }
}

extension LocalVerification {
    fileprivate var brokenRule: Rule? {
        switch self {
        case .verified: nil
        case .rejected(let rule): rule
        case .itemsRejected(let items, _): items.first?.rule
        }
    }
}
