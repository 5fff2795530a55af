// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// Whether the evidence is genuine.
public enum Verdict: Hashable, Sendable {
    /// Apple signed it, and it is what the caller expects.
    case genuine
    /// It is not.
    case rejected(Rejection)
    /// Nobody who could tell could be asked.
    case undecided(UndecidedReason)
}

/// Why evidence is rejected.
public enum Rejection: Hashable, CaseIterable, Sendable {
    /// It breaks a rule.
    case rule(Rule)
    /// Apple says that the customer's account does not exist, or no longer does (21010).
    case accountNotFound

    /// Every rule, and what Apple may say.
    public static let allCases = Rule.allCases.map(Rejection.rule) + [.accountNotFound]

    /// The reason's name in the API.
    public var name: String {
        switch self {
        case .rule(let rule): rule.rawValue
        case .accountNotFound: "account_not_found"
        }
    }

    /// The reason in one sentence.
    public var explanation: String {
        switch self {
        case .rule(let rule): rule.explanation
        case .accountNotFound: "Apple says that the customer's account does not exist, or no longer does."
        }
    }
}

/// Why a verdict could not be reached. The raw values are those of the API.
public enum UndecidedReason: String, Error, CaseIterable, Hashable, Sendable {
    /// Only Apple's answer would do, and this gateway has no upstream for it.
    case upstreamNotConfigured = "upstream_not_configured"
    /// Mode `apple` was asked for, and Apple knows nothing of receipts made in Xcode.
    case environmentWithoutUpstream = "environment_without_upstream"
    /// Mode `apple` was asked for, and Apple did not help; the provenance says why.
    case upstreamDidNotAnswer = "upstream_did_not_answer"
}

/// The answer to a `VerificationRequest`.
public struct Answer: Sendable {
    /// Whether the evidence is genuine.
    public let verdict: Verdict
    /// The purchase that the answer is about; only with verdict `genuine`.
    public let subject: VerificationSubject?
    /// The transactions to show: those that are signed and, where Apple was asked, those it knows beside them.
    public let transactions: [Transaction]
    /// The state of each subscription, the one that ends last first.
    public let subscriptions: [Subscription]
    /// How the verdict is known.
    public internal(set) var provenance: Provenance
    /// The answer holds until then: no later than the next time a subscription's state can change.
    public let freshUntil: Timestamp
    /// Apple's own JSON, where the source is Apple.
    public let upstreamBody: [UInt8]?
    /// The JSON of an earlier answer of Apple's to the same receipt, where Apple gave none now and the caller wants the
    /// latest receipt.
    public internal(set) var earlierUpstreamBody: [UInt8]?
    /// Whether the app's volume licence has ended (`expiration_date`); nil if the receipt has no such date.
    public internal(set) var isAppExpired: Bool?
    /// What part caches had in it; nil if neither they nor Apple were to be asked.
    public internal(set) var cacheStatus: CacheStatus?
    /// Out of date once what the answer is made of may have changed; nil if nothing can change it.
    var version: InvalidationVersion?
}

extension Answer {
    /// The app receipt among the evidence.
    public var receipt: VerifiedReceipt? { subject?.evidence?.receipt }

    /// The environment of the purchase; nil if nothing says it.
    public var environment: Environment? { subject?.environment }

    /// An answer that says nothing of the purchase.
    init(_ verdict: Verdict, _ provenance: Provenance, freshUntil: Timestamp) {
        self.init(
            verdict: verdict, subject: nil, transactions: [], subscriptions: [], provenance: provenance,
            freshUntil: freshUntil, upstreamBody: nil)
    }
}
