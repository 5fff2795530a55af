// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// Verifies evidence and answers requests.
///
/// ```
/// request ──▶ verify locally ──▶ app permitted? ──▶ UpstreamVerification ──▶ answer
///                  │ forged                             │ not needed, or failed
///                  └──▶ rejected                        └──▶ evidence
/// ```
///
/// Local verification takes microseconds and never suspends, so it can run on an event loop. Only shared state and
/// requests to Apple are awaited.
package final class VerificationService: Sendable {
    private let verifier: ReceiptVerifier
    private let freshness: FreshnessPolicy
    private let apple: UpstreamVerification?
    private let onVerification: (@Sendable (Duration, Rule?) -> Void)?

    /// - Parameter onVerification: receives the duration of each local verification, and the rule that the receipt breaks.
    package init(
        verifier: ReceiptVerifier, freshness: FreshnessPolicy = FreshnessPolicy(), apple: UpstreamVerification? = nil,
        onVerification: (@Sendable (Duration, Rule?) -> Void)? = nil
    ) {
        self.verifier = verifier
        self.freshness = freshness
        self.apple = apple
        self.onVerification = onVerification
    }

    /// Answers an admitted request. Forged or broken evidence is rejected here and never sent to Apple.
    /// - Parameter now: the time at which entitlements are evaluated.
    /// - Throws: `GatewayError` if the client may not see the answer.
    package func answer(_ request: VerificationRequest, at now: Timestamp) throws -> Step<Answer, any Error> {
        let evidence: VerifiedEvidence
        do throws(ReceiptError) {
            evidence = try verifyLocally(request.evidence, at: now)
        } catch {
            return .done(rejected(error.rule, at: now))
        }
        let expectations = request.options.expectations
        if let rule = expectations.ruleBroken(byAppOf: evidence) { return .done(rejected(rule, at: now)) }
        // Before other comparisons: a difference would reveal to any client that the evidence is genuine.
        try request.client.check(mayUse: evidence.bundleID)
        if let rule = expectations.ruleBroken(byInstallationOf: evidence) {
            // Not repeated: only a client that may use the app may learn this about its evidence.
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
    /// Throws `.appNotPermitted` unless the client may use the app that it names, if it names one.
    package func checkExpectedApp(for client: RequestClient) throws(GatewayError) {
        guard let bundleID = expectations.bundleID else { return }
        guard client.permittedApps.contains(bundleID) else { throw .appNotPermitted }
    }
}

extension RequestClient {
    /// Checks the signed app, whatever app the client named. Evidence without an app is for clients that may use all.
    func check(mayUse bundleID: String?) throws(GatewayError) {
        guard permittedApps.contains(bundleID) else { throw .appNotPermitted }
    }
}
