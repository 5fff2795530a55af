// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Fetches what Apple says of a genuine receipt, and keeps it. In a node one request fetches and the others join; in the
/// fleet one node asks Apple and the others wait for a moment.
final class UpstreamFetcher: Sendable {
    private let inquiries: Inquiries
    private let cache: any FindingCache
    private let turns: FleetTurns
    private let policy: CachePolicy
    private let observer: any GatewayObserver
    private let clock: @Sendable () -> Timestamp
    private let flights = SingleFlight<CacheKey, KnownFinding>()

    init(
        _ inquiries: Inquiries, fleet: FleetPorts, policy: CachePolicy, observer: any GatewayObserver,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.inquiries = inquiries
        cache = fleet.cache
        turns = FleetTurns(leases: fleet.leases)
        self.policy = policy
        self.observer = observer
        self.clock = clock
    }

    /// The number of receipts that Apple is being asked about.
    var flightCount: Int { flights.count }

    /// Fetches in the background, for the requests to come.
    /// - Parameter known: the finding that the request found, which is not good enough.
    func refresh(_ key: CacheKey, for assessment: Assessment, since known: KnownFinding?) {
        flights.start(key) { await self.fetch(key, for: assessment, since: known) }
    }

    /// Waits for the flight, or starts it. A flight that began before a purge is no answer to a request that came after
    /// the purge: that request has Apple asked once more.
    /// - Parameter known: the finding that the request found, which is not good enough.
    func value(
        for key: CacheKey, _ assessment: Assessment, since known: KnownFinding?, patience: Duration
    ) async -> Boarding<KnownFinding> {
        func flight() async -> Boarding<KnownFinding> {
            await flights.value(for: key, patience: patience) {
                await self.fetch(key, for: assessment, since: known)
            }
        }
        let found = await flight()
        guard !found.isFirst, let finding = found.value,
            cache.judge(finding, naming: assessment.originalTransactionIDs) != .current
        else { return found }
        return await flight()
    }

    /// Finds out what no node knows yet: from Apple, or from the node that asks already.
    private func fetch(
        _ key: CacheKey, for assessment: Assessment, since known: KnownFinding?
    ) async -> KnownFinding {
        let turn = await turns.turn(for: key) { await self.news(of: key, for: assessment, since: known) }
        observer.observe(.leased(turn.outcome))
        switch turn {
        case .found(let found): return found
        case .failed(let reason):
            let now = clock()
            return KnownFinding(.unanswered(reason), askedAt: now, freshUntil: now)
        case .ask(let lease, _):
            let found = await ask(assessment, key)
            if let lease { await turns.leases.release(lease, telling: found.failure) }
            return found
        }
    }

    /// Returns what was found out since the request looked: fresh, and no older than it accepts. What Apple said after the
    /// request came is as new as what it would wait for.
    private func news(
        of key: CacheKey, for assessment: Assessment, since known: KnownFinding?
    ) async -> KnownFinding? {
        guard let found = await cache.lookUp(key, naming: assessment.originalTransactionIDs).finding,
            known.map({ found.isNewer(than: $0) }) ?? true
        else { return nil }
        let maximumAge = found.askedAt < assessment.now ? assessment.request.question.maximumAge : nil
        return found.isFresh(at: clock(), maximumAge: maximumAge) ? found : nil
    }

    private func ask(_ assessment: Assessment, _ key: CacheKey) async -> KnownFinding {
        let (start, purges) = (ContinuousClock.now, cache.purgePosition)
        let (finding, status) = await inquiries.finding(
            about: Inquiries.Inquiry(
                question: assessment.upstreamQuestion, api: key.api, reservation: assessment.request.reservation))
        let now = clock()
        func known(until end: Timestamp) -> KnownFinding {
            KnownFinding(
                finding, status: status, askedAt: now, freshUntil: end, took: start.duration(to: .now), purges: purges)
        }
        let fresh = known(until: assessment.freshUntil(finding, at: now))
        // A purge while Apple was asked: the answer may be from before it. The requests that wait get it, and no other.
        guard cache.judge(fresh, naming: assessment.originalTransactionIDs) == .current else {
            return known(until: now)
        }
        await keep(fresh, for: key, of: assessment)
        return fresh
    }

    /// That Apple now says nothing of a purchase is no reason to forget what it said before.
    private func keep(_ known: KnownFinding, for key: CacheKey, of assessment: Assessment) async {
        guard known.isLasting else { return }
        if case .unanswered = known.finding,
            let before = await cache.lookUp(key, naming: assessment.originalTransactionIDs).finding,
            policy.answersWithoutUpstream(before, at: known.askedAt)
        {
            return
        }
        await cache.insert(known, for: key)
    }
}

extension KnownFinding {
    /// Whether Apple was asked again since. The time of one and the same finding wavers by some milliseconds where it is
    /// translated from one clock to another.
    fileprivate func isNewer(than other: KnownFinding) -> Bool {
        askedAt > other.askedAt.advanced(by: .milliseconds(100))
    }

    /// The reason why Apple gave no answer, if another node would get none either.
    fileprivate var failure: DegradedReason? {
        guard case .unanswered(let reason) = finding, reason.concernsAllNodes else { return nil }
        return reason
    }
}
