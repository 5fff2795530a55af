// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// How long an answer may be repeated. Each is a maximum: no answer outlives the next boundary of an entitlement.
public struct FreshnessPolicy: Hashable, Sendable {
    /// For genuine receipts.
    public var genuine: Duration = .seconds(30)
    /// For receipts that break a rule which no passing of time mends.
    public var rejected: Duration = .seconds(3600)

    /// The default policy.
    public init() {}

    /// When an answer reached at `now` stops to hold.
    func freshUntil(_ verdict: Verdict, _ receipt: VerifiedReceipt?, at now: Timestamp) -> Timestamp {
        switch verdict {
        case .genuine:
            let latest = now.advanced(by: genuine)
            return min(latest, receipt?.nextBoundary(after: now) ?? latest)
        // The creation date will not stay in the future.
        case .rejected(.creationDateInFuture), .undecided: return now
        case .rejected: return now.advanced(by: rejected)
        }
    }
}
