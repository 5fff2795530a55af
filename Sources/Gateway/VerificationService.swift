// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// Decides verifications.
///
/// ```
/// request ──▶ may the client ask? ──▶ near cache ──▶ verify locally ──▶ near cache ──▶ answer
///                                        │ fresh                              ▲
///                                        └────────────────────────────────────┘
/// ```
public final class VerificationService: Sendable {
    private let verifier: ReceiptVerifier
    private let freshness: FreshnessPolicy
    private let nearCache: NearCache

    /// - Parameters:
    ///   - verifier: knows the trust anchors.
    ///   - freshness: how long answers may be repeated.
    ///   - nearCacheBytes: what the answers kept in this process may take.
    public init(
        verifier: ReceiptVerifier, freshness: FreshnessPolicy = FreshnessPolicy(), nearCacheBytes: Int = 64 << 20
    ) {
        self.verifier = verifier
        self.freshness = freshness
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
            known.provenance.cache = .near
            return try request.permitted(known)
        }
        let answer = decide(request, at: now)
        if now < answer.freshUntil { nearCache.insert(answer, for: key) }
        return try request.permitted(answer)
    }

    /// Verifies the evidence itself: what is forged or broken ends here.
    private func decide(_ request: VerificationRequest, at now: Timestamp) -> Answer {
        do throws(ReceiptError) {
            let receipt = try verifyLocally(request, at: now)
            guard request.mode != .apple else { return answer(.undecided(.upstreamNotConfigured), at: now) }
            return genuine(receipt, request, at: now)
        } catch {
            return answer(.rejected(error.rule), at: now)
        }
    }

    private func verifyLocally(
        _ request: VerificationRequest, at now: Timestamp
    ) throws(ReceiptError) -> VerifiedReceipt {
        let receipt =
            switch request.evidence {
            case .appReceipt(let bytes): try verifier.verify(bytes, at: now)
            }
        try request.expectations.check(receipt)
        return receipt
    }

    private func genuine(_ receipt: VerifiedReceipt, _ request: VerificationRequest, at now: Timestamp) -> Answer {
        let purchases = Array(receipt.purchases)
        return Answer(
            verdict: .genuine, receipt: receipt,
            purchases: request.excludesOldTransactions ? purchases.withoutOldTransactions() : purchases,
            subscriptions: Subscription.all(in: purchases, at: now),
            provenance: Provenance(source: .local, cache: .miss, verifiedAt: now),
            freshUntil: freshness.freshUntil(.genuine, receipt, at: now))
    }

    private func answer(_ verdict: Verdict, at now: Timestamp) -> Answer {
        Answer(
            verdict: verdict, receipt: nil, purchases: [], subscriptions: [],
            provenance: Provenance(source: .local, cache: .miss, verifiedAt: now),
            freshUntil: freshness.freshUntil(verdict, nil, at: now))
    }
}

extension Expectations {
    fileprivate func check(_ receipt: VerifiedReceipt) throws(ReceiptError) {
        if let bundleID { try receipt.check(bundleID: bundleID) }
        if let applicationVersion { try receipt.check(applicationVersion: applicationVersion) }
        if let deviceIdentifier { try receipt.check(deviceIdentifier: deviceIdentifier) }
    }
}

extension VerificationRequest {
    /// A client that names an app must be allowed to ask about it.
    fileprivate func checkExpectedApp() throws(GatewayError) {
        guard let bundleID = expectations.bundleID else { return }
        guard permittedApps.contains(bundleID) else { throw .appNotPermitted }
    }

    /// A client that names none learns the app from the receipt, and must be allowed to.
    fileprivate func permitted(_ answer: Answer) throws(GatewayError) -> Answer {
        guard let receipt = answer.receipt, permittedApps != .all else { return answer }
        guard permittedApps.contains(receipt.bundleID) else { throw .appNotPermitted }
        return answer
    }
}
