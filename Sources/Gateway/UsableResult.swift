// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// A result that may be used, and where it comes from.
struct UsableResult: Sendable {
    fileprivate(set) var result: CachedResult
    /// The results that it consists of: one for each customer.
    private(set) var parts: [CachedResult]
    private(set) var cache: Provenance.Cache
    private(set) var cacheStatus: CacheStatus
    /// The version from before the look-up.
    private(set) var version: InvalidationVersion
    /// The reasons why it is less than it should be.
    var reasons: [DegradedReason] = []

    init(_ result: CachedResult, _ cache: Provenance.Cache, _ cacheStatus: CacheStatus, _ version: InvalidationVersion)
    {
        (self.result, self.cache, self.cacheStatus, self.version) = (result, cache, cacheStatus, version)
        parts = [result]
        if result.answer?.lacksItems == true { reasons = [.upstreamItemUnreadable] }
    }

    /// Adds the answer about another customer. What was not cached, or is stale, decides how the whole is described.
    mutating func join(_ other: UsableResult) {
        result = result.joined(with: other.result)
        parts += other.parts
        version = version.joined(with: other.version)
        reasons = (reasons + other.reasons).withoutRepetition
        if cache != .stale, other.cache == .stale || (other.cache == .miss && cache != .miss) {
            (cache, cacheStatus) = (other.cache, other.cacheStatus)
        }
    }
}

/// The reasons why an interface gives no complete answer, and what is left.
struct MissingAnswer: Error, Sendable {
    /// Empty if the mode permits no request to Apple.
    var reasons: [DegradedReason]
    /// The interface.
    var api = UpstreamAPI.verifyReceipt
    /// A result that is out of date or incomplete; nil if there is none.
    var known: CachedResult?
    /// True if the age of that result was checked already.
    var isUsable = false
    /// False if Apple's answer about a customer is missing in that result.
    var isComplete = true
    /// Apple's status code, if any.
    var status: Int?
    var cacheStatus: CacheStatus?

    init(_ reasons: DegradedReason...) { self.reasons = reasons }

    fileprivate var isUnknownID: Bool { reasons == [.transactionUnknown] }

    /// Returns true if another interface may answer. A client that sent a wrong secret must learn it.
    func isForAnotherInterface(_ options: VerificationOptions) -> Bool {
        guard !reasons.isEmpty, !reasons.contains(.stopping) else { return false }
        return !reasons.contains(.sharedSecretRejected) || options.sentSecret == nil
    }
}

/// The results about the customers in the evidence, usually one customer.
struct CustomerResults: Sendable {
    enum Limits {
        /// The limit for customers of one app in one answer: a device may have had several Apple accounts.
        static let customers = 4
        /// The limit for lookups by IDs that Apple does not know.
        static let unknown = 4
        /// The limit for chains without an answer. Beyond it, chains are not looked up in the cache.
        static let missing = 16
    }

    private let evaluated: EvaluatedRequest
    private var joined: UsableResult?
    /// The IDs in the results.
    private var named: Set<String> = []
    /// The first result without an answer: Apple says that the account does not exist, or knows no such ID.
    private var refusal: UsableResult?
    /// The chains of such accounts.
    private var refused: Set<String> = []
    /// The chains without a result.
    private var missing: Set<String> = []
    private var gaps: [(gap: MissingAnswer, id: String, isFilled: Bool)] = []

    init(of evaluated: EvaluatedRequest) { self.evaluated = evaluated }

    func isNamed(_ id: String) -> Bool { named.contains(id) }

    /// False once an interface failed for another reason than an unknown ID, and beyond the limits.
    var mayRequest: Bool {
        joined?.parts.count ?? 0 < Limits.customers && missing.count + refused.count < Limits.unknown
            && gaps.allSatisfy(\.gap.isUnknownID)
    }

    /// False beyond the limit. The cache rarely has the remaining chains.
    var mayLookUp: Bool { missing.count + refused.count < Limits.missing }

    mutating func add(_ found: UsableResult, for id: String) {
        guard found.result.answer != nil else {
            refusal = refusal ?? found
            refused.insert(id)
            return
        }
        named.formUnion(found.result.transactionIDs)
        if evaluated.isMissing(id, in: found.result) {
            // The customer's history, tied by the download of the app, without this purchase.
            gaps.append((MissingAnswer(.transactionUnknown), id, isFilled: false))
            missing.insert(id)
        } else {
            // Copies of its purchases may have other IDs.
            named.insert(id)
        }
        if joined == nil { joined = found } else { joined?.join(found) }
    }

    /// - Parameter stale: the cached result that may be used instead; nil if there is none.
    mutating func add(_ gap: MissingAnswer, for id: String, stale: UsableResult?) {
        var gap = gap
        // Not looked up, because of an earlier failure or the limit.
        if gap.reasons.isEmpty, evaluated.request.options.mode != .local {
            gap.reasons = gaps.first { !$0.gap.isUnknownID }?.gap.reasons ?? [.customerLimit]
        }
        gaps.append((gap, id, isFilled: stale != nil))
        if let stale { add(stale, for: id) } else { missing.insert(id) }
    }

    /// The answers about all customers together. What Apple does not answer about is taken from the evidence, unless the
    /// client requires Apple's answer.
    mutating func value() -> Result<UsableResult, MissingAnswer> {
        guard var joined else {
            // A customer without an answer may differ from the account that does not exist.
            if gaps.isEmpty, let refusal { return .success(refusal) }
            return .failure(gaps.first?.gap ?? MissingAnswer(.transactionUnknown))
        }
        // Another ID of the same customer may have had an answer.
        missing.subtract(named)
        let isCompleted = evaluated.request.options.mode != .apple
        if isCompleted { joined.result = evaluated.completing(joined.result, without: refused) }
        let reasons = reasons(isCompleted: isCompleted)
        guard !reasons.isEmpty, var gap = gaps.first?.gap else { return .success(joined) }
        (gap.reasons, gap.known) = (reasons, joined.result)
        (gap.isUsable, gap.isComplete) = (true, missing.isEmpty)
        return .failure(gap)
    }

    /// Returns the reasons why the results are less than Apple's answers.
    private func reasons(isCompleted: Bool) -> [DegradedReason] {
        // Apple's index may lack a purchase for some minutes.
        let isRecent = isCompleted && missing.isSubset(of: evaluated.recentChains)
        let open = gaps.filter { $0.isFilled || (missing.contains($0.id) && !(isRecent && $0.gap.isUnknownID)) }
        return open.flatMap(\.gap.reasons).withoutRepetition
    }
}

extension [DegradedReason] {
    /// The reasons in their order, each once.
    var withoutRepetition: [DegradedReason] {
        reduce(into: []) { reasons, reason in
            if !reasons.contains(reason) { reasons.append(reason) }
        }
    }
}
