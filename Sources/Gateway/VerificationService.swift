// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// Decides verifications.
///
/// ```
/// request ──▶ near cache ──▶ verify locally ──▶ may the client know? ──▶ AppleDesk ──▶ answer
///                 │ fresh        │ forged                                   │ not needed, or no help
///                 └──▶ answer    └──▶ rejected                              └──▶ what the receipt says
/// ```
public final class VerificationService: Sendable {
    private let verifier: ReceiptVerifier
    private let freshness: FreshnessPolicy
    private let nearCache: NearCache
    private let apple: AppleDesk?

    /// - Parameters:
    ///   - verifier: knows the trust anchors.
    ///   - freshness: how long answers may be repeated.
    ///   - nearCacheBytes: what the answers kept in this process may take.
    ///   - apple: asks Apple; nil answers from receipts alone.
    public init(
        verifier: ReceiptVerifier, freshness: FreshnessPolicy = FreshnessPolicy(), nearCacheBytes: Int = 64 << 20,
        apple: AppleDesk? = nil
    ) {
        self.verifier = verifier
        self.freshness = freshness
        self.apple = apple
        nearCache = NearCache(maximumBytes: nearCacheBytes)
    }

    /// Answers one request.
    ///
    /// - Parameters:
    ///   - request: the question.
    ///   - now: the moment that entitlements are seen from.
    /// - Throws: `GatewayError` if the client may not know the answer.
    public func verify(_ request: VerificationRequest, at now: Timestamp) async throws(GatewayError) -> Answer {
        try request.checkExpectedApp()
        let key = NearCache.Key(request)
        if var known = nearCache.answer(for: key, maximumAge: request.maximumAge, at: now) {
            if let receipt = known.receipt { try request.checkApp(of: receipt) }
            known.provenance.cache = .near
            known.cacheStatus = .hit(freshUntil: known.cacheStatus?.freshUntil ?? known.freshUntil)
            return known
        }
        let answer = try await decide(request, at: now)
        if now < answer.freshUntil { nearCache.insert(answer, for: key) }
        return answer
    }

    /// What is forged or broken ends here: it never reaches Apple.
    private func decide(_ request: VerificationRequest, at now: Timestamp) async throws(GatewayError) -> Answer {
        let receipt: VerifiedReceipt
        do throws(ReceiptError) {
            receipt = try verifyLocally(request.evidence, at: now)
        } catch {
            return rejected(error.rule, at: now)
        }
        if let rule = request.expectations.ruleBroken(byAppOf: receipt) { return rejected(rule, at: now) }
        // Before anything else is compared: what differs would already tell a stranger that the receipt is genuine.
        try request.checkApp(of: receipt)
        if let rule = request.expectations.ruleBroken(byInstallationOf: receipt) {
            // Not for the near cache: only who may know of the app may know that much of its receipt.
            return rejected(rule, at: now, until: now)
        }
        let assessment = Assessment(
            receipt, for: request, at: now, policy: freshness, skew: verifier.policy.clockSkew)
        return await answer(to: assessment)
    }

    private func answer(to assessment: Assessment) async -> Answer {
        switch assessment.request.mode {
        case .local: return assessment.local()
        case .auto: return await apple?.answerIfNeeded(assessment) ?? assessment.local()
        case .appleFirst: return await apple?.answer(assessment) ?? assessment.local()
        case .apple: return await apple?.answer(assessment) ?? assessment.undecided(.upstreamNotConfigured)
        }
    }

    private func verifyLocally(_ evidence: Evidence, at now: Timestamp) throws(ReceiptError) -> VerifiedReceipt {
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

extension VerificationRequest {
    /// A client that names an app must be allowed to ask about it.
    fileprivate func checkExpectedApp() throws(GatewayError) {
        guard let bundleID = expectations.bundleID else { return }
        guard permittedApps.contains(bundleID) else { throw .appNotPermitted }
    }

    /// The receipt's app is what counts, whatever app the client named.
    fileprivate func checkApp(of receipt: VerifiedReceipt) throws(GatewayError) {
        guard permittedApps != .all else { return }
        guard permittedApps.contains(receipt.bundleID) else { throw .appNotPermitted }
    }
}
