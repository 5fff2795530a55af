// SPDX-License-Identifier: Apache-2.0

package import Receipts
package import Resilience

package enum Verdict: Hashable, Sendable {
    /// Apple signed the evidence, and it matches the client's expectations.
    case genuine
    /// The evidence is not genuine, or not what the client expects.
    case rejected(Rejection)
    /// No source that could decide was available.
    case undecided(UndecidedReason)

    package var name: String {
        switch self {
        case .genuine: "genuine"
        case .rejected: "rejected"
        case .undecided: "undecided"
        }
    }

    /// The name of the broken rule, or the reason why there is no verdict.
    package var reason: String? {
        switch self {
        case .genuine: nil
        case .rejected(let rejection): rejection.name
        case .undecided(let reason): reason.rawValue
        }
    }

    /// One sentence about the reason, and for a verdict that was not reached what to do; nil if it is `genuine`.
    package var explanation: String? {
        switch self {
        case .genuine: nil
        case .rejected(let rejection): rejection.explanation
        case .undecided(let reason): reason.explanation
        }
    }
}

package enum Rejection: Hashable, CaseIterable, Sendable {
    case rule(Rule)
    /// Apple reports that the customer's account does not exist, or no longer does (21010).
    case accountNotFound
    case unknownTransaction(UnknownTransaction)
    /// The purchase is bound to another account of the client's.
    case otherAccount

    package static let allCases =
        Rule.allCases.map(Rejection.rule) + [.accountNotFound, .otherAccount]
        + UnknownTransaction.allCases.map(Rejection.unknownTransaction)

    package var name: String {
        switch self {
        case .rule(let rule): rule.rawValue
        case .accountNotFound: "account_not_found"
        case .unknownTransaction(let reason): reason.rawValue
        case .otherAccount: "other_account"
        }
    }

    package var explanation: String {
        switch self {
        case .rule(let rule): rule.explanation
        case .accountNotFound: "Apple says that the customer's account does not exist, or no longer does."
        case .unknownTransaction(.notFound):
            "Apple knows no such transaction of this app. A new one may take some seconds to appear."
        case .unknownTransaction(.idInvalid): "Apple says that no transaction has such an ID."
        case .otherAccount: "The purchase is bound to another account."
        }
    }
}

/// The reason why no verdict was reached. The raw values appear in the API.
package enum UndecidedReason: String, Error, CaseIterable, Hashable, Sendable {
    /// Only Apple can answer, and this gateway has no upstream for the request.
    case upstreamNotConfigured = "upstream_not_configured"
    /// The mode is `apple`, and Apple has no record of purchases made in Xcode or by tests.
    case environmentWithoutUpstream = "environment_without_upstream"
    /// Only Apple could answer and did not; the provenance has the reason.
    case upstreamDidNotAnswer = "upstream_did_not_answer"
    /// The mode is `local`, and nothing usable is cached about a transaction without evidence.
    case notCached = "not_cached"

    fileprivate var explanation: String {
        switch self {
        case .upstreamNotConfigured:
            "Only Apple can answer, and this gateway has no shared secret or key for it. Its operator can set one."
        case .environmentWithoutUpstream: "Apple has no record of purchases in this environment. Use mode `auto`."
        case .upstreamDidNotAnswer: "Only Apple can answer, and did not. `degraded_reasons` says why. Retry later."
        case .notCached: "No answer of Apple's about the transaction is cached. Use mode `auto` to call Apple."
        }
    }
}

/// The answer to a request. An object, because it is handed on many times and never changes.
package final class Answer: Sendable {
    package let verdict: Verdict
    /// The items of the request that break a rule.
    package let rejectedItems: [RejectedItem]
    /// The purchase that the answer is about; nil unless the verdict is `genuine`, or others of the items are.
    package let subject: VerificationSubject?
    package let entitlements: Entitlements
    package let provenance: Provenance
    /// The time until which the answer holds, at most until a subscription's state can change.
    package let freshUntil: Timestamp
    /// Apple's own JSON, if the source is Apple.
    package let upstreamBody: [UInt8]?
    /// Apple's JSON about the same receipt from an earlier request, if the client wants it and Apple gave none now.
    package let earlierUpstreamBody: [UInt8]?
    /// True if consumables may be missing because it is unknown which are unfinished.
    package let mayLackConsumables: Bool
    private let upstreamEnvironment: Environment?
    /// True if the app's volume licence has ended (`expiration_date`); nil if the receipt has no such date.
    package let isAppExpired: Bool?
    /// The part of caches in the answer; nil if neither they nor Apple were needed.
    package let cacheStatus: CacheStatus?
    /// Out of date once the data behind the answer may have changed; nil if nothing can change it.
    let version: InvalidationVersion?

    package init(
        verdict: Verdict, rejectedItems: [RejectedItem] = [], subject: VerificationSubject? = nil,
        entitlements: Entitlements = .none, provenance: Provenance, freshUntil: Timestamp, upstreamBody: [UInt8]? = nil,
        earlierUpstreamBody: [UInt8]? = nil, mayLackConsumables: Bool = false, upstreamEnvironment: Environment? = nil,
        isAppExpired: Bool? = nil, cacheStatus: CacheStatus? = nil, version: InvalidationVersion? = nil
    ) {
        (self.verdict, self.rejectedItems, self.subject) = (verdict, rejectedItems, subject)
        (self.entitlements, self.provenance, self.freshUntil) = (entitlements, provenance, freshUntil)
        (self.upstreamBody, self.earlierUpstreamBody) = (upstreamBody, earlierUpstreamBody)
        (self.upstreamEnvironment, self.mayLackConsumables) = (upstreamEnvironment, mayLackConsumables)
        (self.isAppExpired, self.cacheStatus, self.version) = (isAppExpired, cacheStatus, version)
    }

    package var transactions: TransactionList { entitlements.transactions }

    /// The state of each subscription, in order of their ends, the latest first.
    package var subscriptions: [Subscription] { entitlements.subscriptions }

    /// The plans behind the states: Apple's, or those that are signed.
    package var renewals: [Renewal] { entitlements.renewals }

    package var receipt: VerifiedReceipt? { subject?.evidence?.receipt }

    package var appTransaction: VerifiedAppTransaction? { subject?.evidence?.appTransaction }

    /// The signed environment, or else the environment that Apple answered from.
    package var environment: Environment? { subject?.environment ?? upstreamEnvironment }
}

// MARK: - Variants

extension Answer {
    /// Returns the same answer with other parts; nil leaves a part as it is.
    func replacing(
        verdict: Verdict? = nil, rejectedItems: [RejectedItem]? = nil, provenance: Provenance? = nil,
        earlierUpstreamBody: [UInt8]? = nil, cacheStatus: CacheStatus? = nil, version: InvalidationVersion? = nil
    ) -> Answer {
        Answer(
            verdict: verdict ?? self.verdict, rejectedItems: rejectedItems ?? self.rejectedItems, subject: subject,
            entitlements: entitlements, provenance: provenance ?? self.provenance, freshUntil: freshUntil,
            upstreamBody: upstreamBody,
            earlierUpstreamBody: earlierUpstreamBody ?? self.earlierUpstreamBody,
            mayLackConsumables: mayLackConsumables, upstreamEnvironment: upstreamEnvironment,
            isAppExpired: isAppExpired, cacheStatus: cacheStatus ?? self.cacheStatus, version: version ?? self.version)
    }

    /// The answer in the form in which it is repeated.
    package var repeated: Answer {
        replacing(
            provenance: provenance.repeated, cacheStatus: .hit(freshUntil: cacheStatus?.freshUntil ?? freshUntil))
    }

    /// The answer to a client that rejects purchases of other accounts.
    package var rejectedForAccount: Answer {
        Answer(verdict: .rejected(.otherAccount), provenance: provenance, freshUntil: freshUntil)
    }

    /// Returns the answer, which is out of date once this version is, too.
    func joining(_ version: InvalidationVersion) -> Answer {
        replacing(version: self.version.map { $0.joined(with: version) } ?? version)
    }

    /// Returns the answer about the other items of a request, with these items rejected.
    /// - Parameter items: at least one.
    func rejected(because items: [RejectedItem]) -> Answer {
        replacing(verdict: verdict == .genuine ? .rejected(.rule(items[0].rule)) : verdict, rejectedItems: items)
    }
}

/// The data that decides if an answer may be repeated to the same request.
package struct AnswerValidity: Sendable {
    private let freshUntil: Timestamp
    private let verifiedAt: Timestamp
    private let version: InvalidationVersion?
    /// True if the answer is about an app. A rejection is about none.
    private let isAboutApp: Bool
    private let bundleID: String?

    /// Creates the data for an answer; nil if it must not be repeated.
    package init?(_ answer: Answer, at now: Timestamp) {
        guard now < answer.freshUntil else { return nil }
        freshUntil = answer.freshUntil
        verifiedAt = answer.provenance.verifiedAt
        version = answer.version
        isAboutApp = answer.subject != nil
        bundleID = answer.subject?.bundleID
    }

    /// - Parameter maximumAge: the maximum age that the client accepts; nil for any.
    package func isValid(at now: Timestamp, maximumAge: Duration?) -> Bool {
        now < freshUntil && version?.isCurrent ?? true && !verifiedAt.isInFuture(at: now)
            && verifiedAt.isWithin(maximumAge, at: now)
    }

    package func checkApp(among apps: PermittedApps) throws(GatewayError) {
        guard isAboutApp else { return }
        try apps.require(bundleID)
    }
}

/// The source of a verdict.
package struct Provenance: Hashable, Sendable {
    /// The authority behind the verdict. The raw values appear in the API.
    package enum Source: String, CaseIterable, Sendable {
        /// The receipt's own signature.
        case local
        /// Apple's `verifyReceipt`.
        case apple
        case serverAPI = "app_store_server_api"
        /// A server notification of Apple, together with the evidence.
        case notification
    }

    /// The cache that answered. The raw values appear in the API.
    package enum Cache: String, CaseIterable, Sendable {
        /// None: the answer was made for this request.
        case miss
        /// The near cache in this process, for the same bytes.
        case near
        /// The cached results of requests to Apple.
        case shared
        /// The cached results of requests to Apple, with a result past its freshness.
        case stale
    }

    package var source: Source
    package var cache: Cache
    package var verifiedAt: Timestamp
    /// The reasons why the preferred source did not answer; empty if it did.
    package var degradedReasons: [DegradedReason] = []
    /// Apple's status code, such as 0 or 21003, also of a request that did not help; nil if Apple gave none.
    package var upstreamStatus: Int?

    package var isDegraded: Bool { !degradedReasons.isEmpty }

    package var repeated: Provenance {
        var repeated = self
        repeated.cache = .near
        return repeated
    }
}

/// The part of caches in an answer, in the terms of RFC 9211.
package struct CacheStatus: Hashable, Sendable {
    /// RFC 9211 §2.2. The raw values appear in the header field.
    package enum Reason: String, CaseIterable, Sendable {
        case miss
        /// The cached result is past its freshness.
        case stale
        /// The cached result is fresh, but older than the client accepts.
        case request
    }

    /// The reason for the request to Apple; nil if there was none.
    package let forwarded: Reason?
    /// The time until which the cached or new result is fresh; nil without a result.
    package let freshUntil: Timestamp?
    /// True if the result was stored for other requests.
    package var isStored = false
    /// True if the request waited for a call to Apple that another request had started.
    package var isCollapsed = false

    static func hit(freshUntil: Timestamp) -> CacheStatus {
        CacheStatus(forwarded: nil, freshUntil: freshUntil)
    }

    /// A request to Apple was needed.
    /// - Parameter found: the result; nil if there was none.
    static func forwarded(
        _ reason: Reason, found: CachedResult? = nil, isCollapsed: Bool = false
    ) -> CacheStatus {
        let stored = found.flatMap { $0.isLasting ? $0 : nil }
        return CacheStatus(
            forwarded: reason, freshUntil: stored?.freshUntil, isStored: stored != nil, isCollapsed: isCollapsed)
    }
}
