// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Resilience

/// Fetches results from Apple and stores them. In a node one request fetches and other requests join. In the fleet one
/// node sends the request and other nodes wait for a moment.
final class UpstreamFetcher: Sendable {
    private let client: UpstreamClient
    private let cache: any UpstreamCache
    private let singleFlight: DistributedSingleFlight
    private let policy: CachePolicy
    private let observe: UpstreamObserver
    private let clock: @Sendable () -> Timestamp
    private let flights = SingleFlight<Flight, CachedResult>()
    private let failures = PassingFailures()

    /// A request to Apple, shared by requests that trust the same roots.
    private struct Flight: Hashable {
        let key: CacheKey
        /// The verifier, which the flight keeps alive.
        private let verifier: ObjectIdentifier

        init(_ key: CacheKey, for evaluated: EvaluatedRequest) {
            self.key = key
            verifier = ObjectIdentifier(evaluated.verifier.receipts)
        }
    }

    init(
        _ client: UpstreamClient, fleet: FleetPorts, policy: CachePolicy, observe: @escaping UpstreamObserver,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.client = client
        cache = fleet.cache
        singleFlight = DistributedSingleFlight(leases: fleet.leases)
        self.policy = policy
        self.observe = observe
        self.clock = clock
    }

    var flightCount: Int { flights.count }

    /// Fetches in the background, for later requests.
    /// - Parameter known: the cached result, which may not be used any more.
    /// - Returns: false if Apple had no answer lately.
    @discardableResult
    func refresh(_ key: CacheKey, for evaluated: EvaluatedRequest, since known: CachedResult?) -> Bool {
        guard knownFailure(of: key, for: evaluated, since: known) == nil else { return false }
        flights.start(Flight(key, for: evaluated)) { await self.fetch(key, for: evaluated, since: known) }
        return true
    }

    /// Joins the flight, or starts it. A flight that began before a purge does not answer a request that came after it:
    /// that request starts another flight. So does evidence after a flight that ended for want of budget.
    /// - Parameter known: the cached result, which may not be used any more.
    func value(
        for key: CacheKey, _ evaluated: EvaluatedRequest, since known: CachedResult?, by end: ContinuousClock.Instant
    ) async -> FlightResult<CachedResult> {
        func flight() async -> FlightResult<CachedResult> {
            await flights.value(
                for: Flight(key, for: evaluated), waitLimit: ContinuousClock.now.duration(to: end)
            ) {
                await self.fetch(key, for: evaluated, since: known)
            }
        }
        var found = await flight()
        for _ in 0..<Self.maximumJoinedFlights {
            guard !found.isFirst, let result = found.value, !serves(result, key, evaluated) else { break }
            found = await flight()
        }
        return found
    }

    /// The flights of other requests that may end without serving a request.
    private static let maximumJoinedFlights = 4

    /// Returns true if the result of another request's flight answers this request.
    private func serves(_ result: CachedResult, _ key: CacheKey, _ evaluated: EvaluatedRequest) -> Bool {
        // The flight of a request without evidence has a smaller share of the budget.
        if case .unanswered(.upstreamBudget) = result.result, evaluated.subject.evidence != nil { return false }
        return isCurrent(result, for: key, of: evaluated) && !evaluated.needsMore(than: result)
    }

    /// Fetches a result from Apple, or from the node that is already fetching it.
    private func fetch(
        _ key: CacheKey, for evaluated: EvaluatedRequest, since known: CachedResult?
    ) async -> CachedResult {
        let (decision, outcome) = await singleFlight.decide(for: key) {
            await self.newerResult(of: key, for: evaluated, since: known)
        }
        observe(.leased(outcome))
        switch decision {
        case .found(let found): return found
        // Perhaps that node does not trust the root of Apple's answer, and this request does.
        case .failed(.upstreamContradiction)
        where key.api == .serverAPI && !evaluated.trustedRoots(in: key.environment ?? .sandbox).isEmpty:
            return await fetchFromApple(evaluated, key, since: known)
        case .failed(let reason):
            let now = clock()
            return CachedResult(.unanswered(reason), fetchedAt: now, freshUntil: now)
        case .send(let lease):
            let found = await fetchFromApple(evaluated, key, since: known)
            if let lease { await singleFlight.leases.release(lease, after: found.failure) }
            return found
        }
    }

    /// Returns the result of a recent request to which Apple had no answer; nil unless it is later than the cached answer.
    func knownFailure(
        of key: CacheKey, for evaluated: EvaluatedRequest, since known: CachedResult?
    ) -> CachedResult? {
        guard let failure = failures.result(for: key), known.map({ failure.isNewer(than: $0) }) ?? true,
            failure.isFresh(at: clock(), maximumAge: nil), isUsable(failure, for: evaluated),
            isCurrent(failure, for: key, of: evaluated)
        else { return nil }
        return failure
    }

    /// Returns a result stored since the request's look-up, if it is fresh and no older than accepted. A result from
    /// after the request's start is always recent enough.
    private func newerResult(
        of key: CacheKey, for evaluated: EvaluatedRequest, since known: CachedResult?
    ) async -> CachedResult? {
        guard let found = await lookUp(key, for: evaluated).found.result,
            known.map({ found.isNewer(than: $0) }) ?? true, !evaluated.needsMore(than: found)
        else { return nil }
        let maximumAge = found.fetchedAt < evaluated.now ? evaluated.request.options.maximumAge : nil
        return found.isFresh(at: clock(), maximumAge: maximumAge) ? found : nil
    }

    private func fetchFromApple(
        _ evaluated: EvaluatedRequest, _ key: CacheKey, since before: CachedResult?
    ) async -> CachedResult {
        let (start, purges) = (ContinuousClock.now, cache.purges.position)
        let usable = before.flatMap { isCurrent($0, for: key, of: evaluated) ? $0.answer : nil }
        var (result, status) = await client.result(
            about: UpstreamClient.Call(
                request: evaluated.upstreamRequest, api: key.api, verifier: evaluated.verifier,
                customer: CustomerRequest(key, for: evaluated, knowing: usable),
                reservation: evaluated.request.reservation))
        if case .answered(var answer) = result, let usable, answer.lacksItems {
            answer.fillGaps(from: usable)
            result = .answered(answer)
        }
        let now = clock()
        // An answer of verifyReceipt needs no signature.
        let roots = key.api == .serverAPI ? result.environment.map(evaluated.trustedRoots) ?? [] : []
        func known(until end: Timestamp) -> CachedResult {
            CachedResult(
                result, status: status, fetchedAt: now, freshUntil: end, took: start.duration(to: .now), purges: purges,
                roots: roots)
        }
        let fresh = known(until: evaluated.freshUntil(result, about: key.transactionID, at: now))
        // A purge during the request: the answer may be older. Only the requests that wait get it.
        guard isCurrent(fresh, for: key, of: evaluated) else { return known(until: now) }
        await keep(fresh, for: key, of: evaluated)
        return fresh
    }

    private func isCurrent(_ known: CachedResult, for key: CacheKey, of evaluated: EvaluatedRequest) -> Bool {
        cache.purges.decision(for: known, naming: evaluated.transactionIDs(of: key), in: key.bundleID) == .current
    }

    /// Stores a result. A result without an answer does not replace an answer that may still be used.
    private func keep(_ known: CachedResult, for key: CacheKey, of evaluated: EvaluatedRequest) async {
        guard known.isLasting else { return }
        if known.result.isNegative,
            let before = await usable(key, for: evaluated).result,
            policy.answersWithoutUpstream(before, about: evaluated.subject, at: known.fetchedAt)
        {
            return failures.keep(known, for: key)
        }
        failures.remove(key)
        guard let answer = known.answer, let alias = key.alias(for: answer) else {
            return await cache.insert(known, for: key)
        }
        // In this order: an alias leads to an answer.
        let canonical = key.canonical(alias)
        await cache.insert(known, for: canonical)
        func keepAlias(for key: CacheKey, until end: Timestamp) async {
            await cache.insert(
                CachedResult(
                    .alias(alias), fetchedAt: known.fetchedAt, freshUntil: end, purges: known.purges,
                    roots: known.roots),
                for: key)
        }
        if key != canonical {
            await keepAlias(for: key, until: evaluated.freshUntil(.alias(alias), at: known.fetchedAt))
        }
        // The IDs by which backends name this purchase, as long as the answer is kept.
        for name in answer.names(of: alias.originalTransactionID).map({ key.naming($0) }) where name != key {
            await keepAlias(for: name, until: evaluated.retentionEnd(of: known))
        }
    }
}

// MARK: - Aliases

extension UpstreamFetcher {
    /// The maximum number of aliases between an ID and its answer: Apple rarely renames a chain, and never in a circle.
    private static let maximumAliases = 4

    /// Looks up a key. An alias leads to another key: then the result for that key is returned, with the key.
    func lookUp(_ key: CacheKey, for evaluated: EvaluatedRequest) async -> (key: CacheKey, found: CacheLookup) {
        var key = key
        for _ in 0...Self.maximumAliases {
            let found = await usable(key, for: evaluated)
            guard case .alias(let alias) = found.result?.result else { return (key, found) }
            guard found.result?.isFresh(at: evaluated.now, maximumAge: nil) == true else { break }
            key = key.canonical(alias)
        }
        return (key, CacheLookup(nil, version: cache.version(for: key)))
    }

    /// Looks up a key. A result under a root that the request does not trust counts as missing, and so does one from the
    /// future.
    private func usable(_ key: CacheKey, for evaluated: EvaluatedRequest) async -> CacheLookup {
        let found = await cache.lookUp(key, naming: evaluated.transactionIDs(of: key))
        guard let result = found.result else { return found }
        return isUsable(result, for: evaluated) ? found : CacheLookup(nil, version: found.version)
    }

    private func isUsable(_ result: CachedResult, for evaluated: EvaluatedRequest) -> Bool {
        evaluated.trusts(result) && !result.fetchedAt.isInFuture(at: clock())
    }
}

extension CustomerRequest {
    /// Creates the request for a key; nil unless it is one of the Server API.
    /// - Parameter known: the cached answer, whose history continues.
    fileprivate init?(_ key: CacheKey, for evaluated: EvaluatedRequest, knowing known: UpstreamAnswer?) {
        guard let bundleID = key.bundleID, let transactionID = key.transactionID else { return nil }
        self.init(
            bundleID: bundleID, transactionID: transactionID, environment: key.environment.map { .init($0) },
            hasEvidence: evaluated.subject.evidence != nil,
            // Once needed, they are kept up to date.
            listsUnfinishedConsumables: evaluated.hasAppleForm
                || known.map { $0.unfinishedConsumables != .notRequested } ?? false,
            ties: evaluated.ties(to: transactionID), verifier: evaluated.verifier.receipts,
            known: known?.revision == nil ? nil : known)
    }
}

extension UpstreamResult {
    /// The environment of what Apple signed; nil for a result without signatures.
    fileprivate var environment: Environment? {
        switch self {
        case .answered(let answer): answer.environment
        case .alias(let alias): alias.environment
        case .accountNotFound, .unknownTransaction, .unanswered: nil
        }
    }

    /// True if it may pass: an answer from before is kept.
    fileprivate var isNegative: Bool {
        switch self {
        case .unanswered, .unknownTransaction: true
        case .answered, .accountNotFound, .alias: false
        }
    }
}

extension CachedResult {
    /// Returns true if it comes from a later request. The time of the same result varies by some milliseconds when it
    /// is converted between clocks.
    fileprivate func isNewer(than other: CachedResult) -> Bool {
        fetchedAt > other.fetchedAt.advanced(by: .milliseconds(100))
    }

    /// The reason why Apple gave no answer, if other nodes would get none either.
    fileprivate var failure: DegradedReason? {
        guard case .unanswered(let reason) = result, reason.facts.concernsAllNodes else { return nil }
        return reason
    }
}
