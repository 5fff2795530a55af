// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The rules by which evidence and results of Apple are assessed. An object, because each request has them.
final class EvaluationRules: Sendable {
    let freshness: FreshnessPolicy
    /// The time by which Apple's clock may be ahead of ours, and the time for which a renewal may be late.
    let clockSkew: Duration, lateRenewal: Duration

    init(freshness: FreshnessPolicy, clockSkew: Duration, lateRenewal: Duration) {
        (self.freshness, self.clockSkew, self.lateRenewal) = (freshness, clockSkew, lateRenewal)
    }

    /// Returns the rules for the states of subscriptions.
    /// - Parameter knownAt: the time of transactions and plans without a time of their own.
    func states(knownAt: Timestamp?, of subject: VerificationSubject) -> SubscriptionRules {
        SubscriptionRules(
            lateRenewal: lateRenewal, knownAt: knownAt, licenceEnd: subject.evidence?.licenceEnd)
    }
}
