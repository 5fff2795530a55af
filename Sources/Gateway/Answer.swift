// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// Whether the evidence is genuine.
public enum Verdict: Hashable, Sendable {
    /// Apple signed it, and it is what the caller expects.
    case genuine
    /// It breaks a rule.
    case rejected(Rule)
    /// Nobody who could tell could be asked.
    case undecided(UndecidedReason)
}

/// Why a verdict could not be reached. The raw values are those of the API.
public enum UndecidedReason: String, CaseIterable, Hashable, Sendable {
    /// Mode `apple` was asked for, and this gateway has no upstream.
    case upstreamNotConfigured = "upstream_not_configured"
}

/// How a verdict is known.
public struct Provenance: Hashable, Sendable {
    /// Who said so. The raw values are those of the API.
    public enum Source: String, CaseIterable, Sendable {
        /// The receipt's own signature.
        case local
    }

    /// Where the answer was found. The raw values are those of the API.
    public enum Cache: String, CaseIterable, Sendable {
        /// Nowhere: it was worked out for this request.
        case miss
        /// In this process.
        case near
    }

    /// Who said so.
    public var source: Source
    /// Where the answer was found.
    public var cache: Cache
    /// When the verdict was reached.
    public var verifiedAt: Timestamp
}

/// The answer to a `VerificationRequest`.
public struct Answer: Sendable {
    /// Whether the evidence is genuine.
    public let verdict: Verdict
    /// What Apple signed; only with verdict `genuine`.
    public let receipt: VerifiedReceipt?
    /// The purchases to show: all of the receipt, or without old transactions.
    public let purchases: [InAppPurchase]
    /// The state of each subscription, newest first.
    public let subscriptions: [Subscription]
    /// How the verdict is known.
    public internal(set) var provenance: Provenance
    /// The answer holds until then: no later than the next time a subscription's state can change.
    public let freshUntil: Timestamp
}
