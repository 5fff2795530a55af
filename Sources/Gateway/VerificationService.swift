// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// Decides verifications.
///
/// ```
/// request ──▶ verify locally ──▶ may the client know? ──▶ UpstreamVerification ──▶ answer
///                  │ forged                                  │ not needed, or no help
///                  └──▶ rejected                             └──▶ what is signed
/// ```
///
/// A decision takes microseconds and suspends nowhere, so an event loop can make it. Only what the fleet or Apple knows
/// has to be waited for.
public final class VerificationService: Sendable {
    private let verifier: ReceiptVerifier
    private let freshness: FreshnessPolicy
    private let apple: UpstreamVerification?
    private let onVerification: (@Sendable (Duration, Rule?) -> Void)?

    /// Creates a service.
    /// - Parameters:
    ///   - verifier: knows the trust anchors.
    ///   - freshness: how long answers may be repeated.
    ///   - apple: asks Apple; nil answers from receipts alone.
    ///   - onVerification: told how long each verification here took, and which rule the receipt breaks.
    public init(
        verifier: ReceiptVerifier, freshness: FreshnessPolicy = FreshnessPolicy(), apple: UpstreamVerification? = nil,
        onVerification: (@Sendable (Duration, Rule?) -> Void)? = nil
    ) {
        self.verifier = verifier
        self.freshness = freshness
        self.apple = apple
        self.onVerification = onVerification
    }

    /// Answers a request that was admitted. What is forged or broken ends here: it never reaches Apple.
    /// - Parameter now: the moment that entitlements are seen from.
    /// - Throws: `GatewayError` if the client may not know the answer.
    public func answer(_ request: VerificationRequest, at now: Timestamp) throws -> Step<Answer, any Error> {
        let evidence: VerifiedEvidence
        do throws(ReceiptError) {
            evidence = try verifyLocally(request.evidence, at: now)
        } catch {
            return .done(rejected(error.rule, at: now))
        }
        let expectations = request.options.expectations
        if let rule = expectations.ruleBroken(byAppOf: evidence) { return .done(rejected(rule, at: now)) }
        // Before anything else is compared: what differs would already tell a stranger that the evidence is genuine.
        try request.caller.check(mayAskAbout: evidence.bundleID)
        if let rule = expectations.ruleBroken(byInstallationOf: evidence) {
            // Not to be repeated: only who may know of the app may know that much of its evidence.
            return .done(rejected(rule, at: now, until: now))
        }
        return answer(
            to: Assessment(
                .signed(evidence), for: request, at: now, policy: freshness, skew: verifier.policy.clockSkew))
    }

    private func answer(to assessment: Assessment) -> Step<Answer, any Error> {
        guard assessment.request.options.mode != .local, let apple else {
            return .done(assessment.withoutUpstream(.upstreamNotConfigured))
        }
        return apple.answer(to: assessment)
    }

    private func verifyLocally(_ evidence: Evidence, at now: Timestamp) throws(ReceiptError) -> VerifiedEvidence {
        guard let onVerification else { return try verify(evidence, at: now) }
        let start = ContinuousClock.now
        do throws(ReceiptError) {
            let verified = try verify(evidence, at: now)
            onVerification(.now - start, nil)
            return verified
        } catch {
            onVerification(.now - start, error.rule)
            throw error
        }
    }

    private func verify(_ evidence: Evidence, at now: Timestamp) throws(ReceiptError) -> VerifiedEvidence {
        switch evidence {
        case .appReceipt(let bytes): VerifiedEvidence(.appReceipt(try verifier.verify(bytes, at: now)))
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
    fileprivate func ruleBroken(byAppOf evidence: VerifiedEvidence) -> Rule? {
        guard let bundleID else { return nil }
        let isIssued = evidence.bundleID.map { $0.utf8.elementsEqual(bundleID.utf8) } ?? false
        return isIssued ? nil : .bundleIDMismatch
    }

    /// Only an app receipt tells of the installation.
    fileprivate func ruleBroken(byInstallationOf evidence: VerifiedEvidence) -> Rule? {
        guard let receipt = evidence.receipt else { return nil }
        do throws(ReceiptError) {
            if let applicationVersion { try receipt.check(applicationVersion: applicationVersion) }
            if let deviceIdentifier { try receipt.check(deviceIdentifier: deviceIdentifier) }
            return nil
        } catch {
            return error.rule
        }
    }
}

extension VerificationOptions {
    /// Throws `.appNotPermitted` unless the client may ask about the app that it names; one that names none may ask.
    public func checkExpectedApp(for caller: Caller) throws(GatewayError) {
        guard let bundleID = expectations.bundleID else { return }
        guard caller.permittedApps.contains(bundleID) else { throw .appNotPermitted }
    }
}

extension Caller {
    /// The app that is signed is what counts, whatever app the client named. Evidence that names none is for clients that
    /// may ask about all.
    func check(mayAskAbout bundleID: String?) throws(GatewayError) {
        guard permittedApps.contains(bundleID) else { throw .appNotPermitted }
    }
}
