// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Fetches results from Apple and stores them. In a node one request fetches and the others join; in the fleet one node
/// sends the request and the others wait for a moment.
final class UpstreamFetcher: Sendable {
    private let client: UpstreamClient
    private let cache: any UpstreamCache
    private let singleFlight: DistributedSingleFlight
    private let policy: CachePolicy
    private let observer: any UpstreamObserver
    private let clock: @Sendable () -> Timestamp
    private let flights = SingleFlight<CacheKey, CachedResult>()

    init(
        _ client: UpstreamClient, fleet: FleetPorts, policy: CachePolicy, observer: any UpstreamObserver,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.client = client
        cache = fleet.cache
        singleFlight = DistributedSingleFlight(leases: fleet.leases)
        self.policy = policy
        self.observer = observer
        self.clock = clock
    }

    var flightCount: Int { flights.count }

    /// Fetches in the background, for later requests.
    /// - Parameter known: the cached result, which may not be used any more.
    func refresh(_ key: CacheKey, for assessment: Assessment, since known: CachedResult?) {
        flights.start(key) { await self.fetch(key, for: assessment, since: known) }
    }

    /// Joins the flight, or starts it. A flight that began before a purge does not answer a request that came after it:
    /// that request starts another one.
    /// - Parameter known: the cached result, which may not be used any more.
    func value(
        for key: CacheKey, _ assessment: Assessment, since known: CachedResult?, waitLimit: Duration
    ) async -> FlightResult<CachedResult> {
        func flight() async -> FlightResult<CachedResult> {
            await flights.value(for: key, waitLimit: waitLimit) {
                await self.fetch(key, for: assessment, since: known)
            }
        }
        let found = await flight()
        guard !found.isFirst, let result = found.value,
            cache.purgeDecision(for: result, naming: assessment.originalTransactionIDs) != .current
        else { return found }
        return await flight()
    }

    /// Fetches a result from Apple, or from the node that is already fetching it.
    private func fetch(
        _ key: CacheKey, for assessment: Assessment, since known: CachedResult?
    ) async -> CachedResult {
        let decision = await singleFlight.decide(for: key) {
            await self.newerResult(of: key, for: assessment, since: known)
        }
        observer.observe(.leased(decision.outcome))
        switch decision {
        case .found(let found): return found
        case .failed(let reason):
            let now = clock()
            return CachedResult(.unanswered(reason), fetchedAt: now, freshUntil: now)
        case .send(let lease, _):
            let found = await fetchFromApple(assessment, key)
            if let lease { await singleFlight.leases.release(lease, after: found.failure) }
            return found
        }
    }

    /// Returns a result stored since the request's look-up, if it is fresh and no older than accepted. A result from
    /// after the request's start is always recent enough.
    private func newerResult(
        of key: CacheKey, for assessment: Assessment, since known: CachedResult?
    ) async -> CachedResult? {
        guard let found = await cache.lookUp(key, naming: assessment.originalTransactionIDs).result,
            known.map({ found.isNewer(than: $0) }) ?? true
        else { return nil }
        let maximumAge = found.fetchedAt < assessment.now ? assessment.request.options.maximumAge : nil
        return found.isFresh(at: clock(), maximumAge: maximumAge) ? found : nil
    }

    private func fetchFromApple(_ assessment: Assessment, _ key: CacheKey) async -> CachedResult {
        let (start, purges) = (ContinuousClock.now, cache.purgePosition)
        let (result, status) = await client.result(
            about: UpstreamClient.Call(
                request: assessment.upstreamRequest, api: key.api, reservation: assessment.request.reservation))
        let now = clock()
        func known(until end: Timestamp) -> CachedResult {
            CachedResult(
                result, status: status, fetchedAt: now, freshUntil: end, took: start.duration(to: .now), purges: purges)
        }
        let fresh = known(until: assessment.freshUntil(result, at: now))
        // A purge during the request: the answer may be older. Only the requests that wait get it.
        guard cache.purgeDecision(for: fresh, naming: assessment.originalTransactionIDs) == .current else {
            return known(until: now)
        }
        await keep(fresh, for: key, of: assessment)
        return fresh
    }

    /// Stores a result. A result without an answer does not replace an answer that may still be used.
    private func keep(_ known: CachedResult, for key: CacheKey, of assessment: Assessment) async {
        guard known.isLasting else { return }
        if case .unanswered = known.result,
            let before = await cache.lookUp(key, naming: assessment.originalTransactionIDs).result,
            policy.answersWithoutUpstream(before, about: assessment.subject, at: known.fetchedAt)
        {
            return
        }
        await cache.insert(known, for: key)
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
        guard case .unanswered(let reason) = result, reason.concernsAllNodes else { return nil }
        return reason
    }
}
