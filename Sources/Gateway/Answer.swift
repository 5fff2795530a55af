// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// The decision about the evidence.
public enum Verdict: Hashable, Sendable {
    /// Apple signed the evidence, and it matches the caller's expectations.
    case genuine
    /// The evidence is not genuine, or not what the caller expects.
    case rejected(Rejection)
    /// No source that could decide was available.
    case undecided(UndecidedReason)

    /// The verdict's name in the API.
    public var name: String {
        switch self {
        case .genuine: "genuine"
        case .rejected: "rejected"
        case .undecided: "undecided"
        }
    }

    /// The name of the broken rule, or the reason why there is no verdict.
    public var reason: String? {
        switch self {
        case .genuine: nil
        case .rejected(let rejection): rejection.name
        case .undecided(let reason): reason.rawValue
        }
    }
}

/// The reason why evidence is rejected.
public enum Rejection: Hashable, CaseIterable, Sendable {
    /// The evidence breaks a rule.
    case rule(Rule)
    /// Apple reports that the customer's account does not exist, or no longer does (21010).
    case accountNotFound

    /// All rules, and the rejection that only Apple can report.
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

/// The reason why no verdict was reached. The raw values are those of the API.
public enum UndecidedReason: String, Error, CaseIterable, Hashable, Sendable {
    /// Only Apple can answer, and this gateway has no upstream for the request.
    case upstreamNotConfigured = "upstream_not_configured"
    /// The mode is `apple`, and Apple has no record of receipts made in Xcode.
    case environmentWithoutUpstream = "environment_without_upstream"
    /// The mode is `apple`, and Apple did not answer; the provenance has the reason.
    case upstreamDidNotAnswer = "upstream_did_not_answer"
}

/// The answer to a `VerificationRequest`.
public struct Answer: Sendable {
    /// The decision about the evidence.
    public let verdict: Verdict
    /// The purchase that the answer is about; nil unless the verdict is `genuine`.
    public let subject: VerificationSubject?
    /// The transactions to show: those that are signed, and those in Apple's answer.
    public let transactions: [Transaction]
    /// The state of each subscription, the one that ends last first.
    public let subscriptions: [Subscription]
    /// The source of the verdict.
    public internal(set) var provenance: Provenance
    /// The time until which the answer holds, at most until a subscription's state can change.
    public let freshUntil: Timestamp
    /// Apple's own JSON, if the source is Apple.
    public let upstreamBody: [UInt8]?
    /// Apple's JSON about the same receipt from an earlier request, if the caller wants it and Apple gave none now.
    public internal(set) var earlierUpstreamBody: [UInt8]?
    /// True if the app's volume licence has ended (`expiration_date`); nil if the receipt has no such date.
    public internal(set) var isAppExpired: Bool?
    /// The part of caches in the answer; nil if neither they nor Apple were needed.
    public internal(set) var cacheStatus: CacheStatus?
    /// Out of date once the data behind the answer may have changed; nil if nothing can change it.
    var version: InvalidationVersion?
}

extension Answer {
    /// The app receipt among the evidence.
    public var receipt: VerifiedReceipt? { subject?.evidence?.receipt }

    /// The environment of the purchase; nil if unknown.
    public var environment: Environment? { subject?.environment }

    init(_ verdict: Verdict, _ provenance: Provenance, freshUntil: Timestamp) {
        self.init(
            verdict: verdict, subject: nil, transactions: [], subscriptions: [], provenance: provenance,
            freshUntil: freshUntil, upstreamBody: nil)
    }
}
