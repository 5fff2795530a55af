// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// Answers with what Apple knows of a genuine receipt, and decides when Apple needs not be asked, or cannot.
///
/// ```
/// assessment ──▶ known and fresh? ──▶ must Apple be asked? ──▶ one flight per receipt ──▶ Apple ──▶ keep ──▶ answer
///                     │ yes                │ no                        │ fails
///                     └──▶ repeat it       └──▶ the receipt itself     └──▶ what was known, else the receipt itself
/// ```
public final class AppleDesk: Sendable {
    private let inquiries: Inquiries
    private let cache: any FindingCache
    private let lifecycle: UpstreamLifecycle
    private let freshness: FreshnessPolicy
    private let patience: UpstreamPatience
    private let observer: any GatewayObserver
    private let clock: @Sendable () -> Timestamp
    private let chance: @Sendable () -> Double
    private let flights = SingleFlight<FindingKey, KnownFinding>()
    private let turns: FleetTurns

    /// - Parameters:
    ///   - upstream: Apple.
    ///   - cache: what Apple said lately.
    ///   - lifecycle: what is known of the endpoints' end.
    ///   - verifier: verifies the receipts that Apple's answers carry.
    ///   - freshness: how long answers may be repeated.
    ///   - guards: of the two endpoints.
    ///   - patience: how long Apple is waited for.
    ///   - limiter: keeps count of the budget for questions.
    ///   - leases: who in the fleet asks.
    ///   - notes: tells the fleet what Apple asks for.
    ///   - observer: told what happens.
    ///   - clock: the time.
    ///   - chance: minus the logarithm of a random number between 0 and 1: spreads the nodes' early refreshes. 0 never
    ///     refreshes early.
    public init(
        upstream: any Upstream, guards: UpstreamGuards = UpstreamGuards(), cache: any FindingCache,
        lifecycle: UpstreamLifecycle, verifier: ReceiptVerifier, freshness: FreshnessPolicy = FreshnessPolicy(),
        patience: UpstreamPatience = UpstreamPatience(), limiter: any RateLimiter = EmbeddedRateLimiter(),
        leases: any FlightLeases = EmbeddedFlightLeases(),
        notes: any FleetNotes = EmbeddedFleetNotes(), observer: any GatewayObserver,
        clock: @escaping @Sendable () -> Timestamp, chance: @escaping @Sendable () -> Double = { 0 }
    ) {
        self.cache = cache
        self.lifecycle = lifecycle
        self.freshness = freshness
        self.patience = patience
        self.observer = observer
        self.clock = clock
        self.chance = chance
        turns = FleetTurns(leases: leases)
        inquiries = Inquiries(
            upstream, guards: guards, verifier: verifier, patience: patience, limiter: limiter, notes: notes,
            observer: observer, clock: clock)
    }

    /// How many receipts Apple is being asked about.
    var flightCount: Int { flights.count }
}

// MARK: - Answering

extension AppleDesk {
    /// What is to be done about a receipt.
    enum Beginning {
        /// This is the answer: Apple needs not be asked, or cannot.
        case answer(Answer)
        /// What Apple says of it is to be found out.
        case ask(FindingKey)
    }

    /// In mode `auto` Apple is asked if it may know more than the receipt, in the others because the caller wants it.
    func begin(_ assessment: Assessment) -> Beginning {
        let isWanted = assessment.request.question.mode != .auto
        guard canAsk(about: assessment) else {
            return .answer(
                assessment.request.question.mode == .apple
                    ? assessment.undecided(.environmentWithoutUpstream) : assessment.local())
        }
        let secret = inquiries.upstream.secret(forApp: assessment.receipt.bundleID)
        let hasSecret = assessment.request.question.callersSecret != nil || secret != nil
        guard isWanted || (hasSecret && assessment.mayHaveChanged) else { return .answer(assessment.local()) }
        let key = FindingKey(assessment.receipt, assessment.request, configuredSecret: secret)
        guard isWanted || !isMoved(assessment, key) else { return .answer(assessment.local()) }
        // From here on the receipt is held for seconds.
        guard assessment.request.reservation?.grow(by: assessment.byteCount) ?? true else {
            return .answer(degraded(assessment, nil, because: .upstreamSaturated, nil))
        }
        return .ask(key)
    }

    /// What Apple says, from whoever in the fleet knows it; without Apple, the best that is left.
    func answer(_ assessment: Assessment, _ key: FindingKey) async -> Answer {
        let known = await cache.lookUp(key, naming: assessment.originalTransactionIDs)
        var answer = await answer(assessment, key, knowing: known)
        if answer.upstreamBody == nil, answer.verdict == .genuine, assessment.showsLatestReceipt {
            answer.earlierUpstreamBody = await earlierBody(about: key, of: assessment, knowing: known.finding)
        }
        return answer
    }

    private func answer(_ assessment: Assessment, _ key: FindingKey, knowing known: FindingLookup) async -> Answer {
        if let finding = known.finding,
            let answer = cached(finding, assessment, key, isDetached: known.isDetached)
        {
            return stamped(answer, made: finding, of: assessment, since: known.stamp)
        }
        let found = await found(assessment, key, knowing: known.finding)
        return stamped(found.answer, made: found.finding, of: assessment, since: known.stamp)
    }

    /// The answer, to be repeated until the finding it is made of changes or is purged.
    private func stamped(
        _ answer: consuming Answer, made finding: KnownFinding?, of assessment: Assessment,
        since stamp: InvalidationStamp
    ) -> Answer {
        answer.stamp = stamp
        guard let finding else { return answer }
        let ids = assessment.originalTransactionIDs
        // Watched before it is judged: a purge between the two puts the stamp out of date.
        let watching = stamp.watching(Array(Set(ids).union(finding.originalTransactionIDs)))
        let isCurrent = cache.judge(finding, naming: ids) == .current
        answer.stamp = isCurrent ? watching : watching.outOfDate
        return answer
    }

    /// Apple's JSON of an earlier answer to this receipt, however old and whichever transactions it leaves out.
    private func earlierBody(
        about key: FindingKey, of assessment: Assessment, knowing known: KnownFinding?
    ) async -> [UInt8]? {
        if let body = known?.upstreamBody { return body }
        var other = key
        other.excludesOldTransactions.toggle()
        return await cache.lookUp(other, naming: assessment.originalTransactionIDs).finding?.upstreamBody
    }

    /// Returns the answer made of what Apple says, which the first request fetches for all, and the finding it is made of.
    /// - Parameter known: what is known, and not good enough.
    private func found(
        _ assessment: Assessment, _ key: FindingKey, knowing known: KnownFinding?
    ) async -> (answer: Answer, finding: KnownFinding?) {
        observer.observe(.lookedUp(.miss))
        let found = await join(assessment, key, since: known)
        if !found.isFirst { observer.observe(.joinedFlight) }
        let reason = known.map { assessment.reasonToAsk(knowing: $0) } ?? .miss
        let failed = CacheStatus.forwarded(reason, isCollapsed: !found.isFirst)
        guard let finding = found.value else {
            return (degraded(assessment, known, because: .upstreamSlow, failed), known)
        }
        if case .unanswered(let trouble) = finding.finding {
            return (degraded(assessment, known, because: trouble, failed), known)
        }
        let answer = assessment.answer(
            finding, from: .miss, .forwarded(reason, found: finding, isCollapsed: !found.isFirst))
        return (answer ?? assessment.local(), finding)
    }

    /// Waits for the flight, or starts it. A flight that began before a purge is no answer to a request that came after
    /// the purge: that request has Apple asked once more.
    private func join(
        _ assessment: Assessment, _ key: FindingKey, since known: KnownFinding?
    ) async -> Boarding<KnownFinding> {
        func flight() async -> Boarding<KnownFinding> {
            await flights.value(for: key, patience: patience(for: assessment)) {
                await self.inquire(assessment, key, since: known)
            }
        }
        let found = await flight()
        guard !found.isFirst, let finding = found.value,
            cache.judge(finding, naming: assessment.originalTransactionIDs) != .current
        else { return found }
        return await flight()
    }

    /// What is known, if it is fresh; or just past its time, while a new answer is fetched for the next who asks.
    /// - Parameter isDetached: whether purges by other nodes may be missing.
    private func cached(
        _ known: KnownFinding, _ assessment: Assessment, _ key: FindingKey, isDetached: Bool
    ) -> Answer? {
        let now = assessment.now, maximumAge = assessment.request.question.maximumAge
        let reasons: [DegradedReason] = isDetached ? [.sharedStoreUnreachable] : []
        if known.isFresh(at: now, maximumAge: maximumAge) {
            observer.observe(.lookedUp(.shared))
            refreshEarly(known, assessment, key)
            if case .unanswered(let reason) = known.finding { return degraded(assessment, nil, because: reason, nil) }
            for reason in reasons { observer.observe(.degraded(reason)) }
            return assessment.answer(
                known, from: .shared, .hit(freshUntil: known.freshUntil), degradedBecause: reasons)
        }
        guard maximumAge == nil, known.isStale(within: freshness.staleWhileRevalidate, at: now),
            !known.hasPassedBoundary(at: now)
        else { return nil }
        observer.observe(.lookedUp(.stale))
        for reason in reasons { observer.observe(.degraded(reason)) }
        flights.start(key) { await self.inquire(assessment, key, since: known) }
        return assessment.answer(
            known, from: .stale, .hit(freshUntil: known.freshUntil), degradedBecause: reasons)
    }

    /// Somebody has to wait for the next answer, unless it is fetched before this one's time is over.
    private func refreshEarly(_ known: KnownFinding, _ assessment: Assessment, _ key: FindingKey) {
        guard known.isDue(at: assessment.now, chance: chance()) else { return }
        observer.observe(.refreshedEarly)
        flights.start(key) { await self.inquire(assessment, key, since: known) }
    }

    /// The best answer without Apple: what it said before, else what the receipt says, if the caller takes that.
    private func degraded(
        _ assessment: Assessment, _ known: KnownFinding?, because reason: DegradedReason, _ cacheStatus: CacheStatus?
    ) -> Answer {
        observer.observe(.degraded(reason))
        if let known, known.answerHolds(for: freshness.staleIfError, at: assessment.now),
            let answer = assessment.answer(known, from: .stale, cacheStatus, degradedBecause: [reason])
        {
            return answer
        }
        var answer =
            assessment.request.question.mode == .apple
            ? assessment.undecided(.upstreamDidNotAnswer, degradedBecause: [reason])
            : assessment.local(degradedBecause: [reason])
        answer.cacheStatus = cacheStatus
        return answer
    }

    /// Finds out what nobody in the fleet knows yet: by asking Apple, or from the node that is asking already.
    /// - Parameter known: what the caller knows, which was not good enough.
    private func inquire(
        _ assessment: Assessment, _ key: FindingKey, since known: KnownFinding?
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

    /// What was found out since the request looked: fresh, and no older than it accepts. What Apple said after the
    /// request came is as new as what it would wait for.
    private func news(
        of key: FindingKey, for assessment: Assessment, since known: KnownFinding?
    ) async -> KnownFinding? {
        guard let found = await cache.lookUp(key, naming: assessment.originalTransactionIDs).finding,
            known.map({ found.isNewer(than: $0) }) ?? true
        else { return nil }
        let maximumAge = found.askedAt < assessment.now ? assessment.request.question.maximumAge : nil
        return found.isFresh(at: clock(), maximumAge: maximumAge) ? found : nil
    }

    private func ask(_ assessment: Assessment, _ key: FindingKey) async -> KnownFinding {
        let (start, purges) = (ContinuousClock.now, cache.purgePosition)
        let finding = await inquiries.finding(
            about: Inquiries.Inquiry(
                question: assessment.question, receipt: assessment.receipt,
                reservation: assessment.request.reservation))
        let now = clock()
        func known(until end: Timestamp) -> KnownFinding {
            KnownFinding(finding, askedAt: now, freshUntil: end, took: start.duration(to: .now), purges: purges)
        }
        let fresh = known(until: assessment.freshUntil(finding, at: now))
        // A purge while Apple was asked: the answer may be from before it. The requests that wait get it, and no other.
        guard cache.judge(fresh, naming: assessment.originalTransactionIDs) == .current else {
            return known(until: now)
        }
        await keep(fresh, for: key, of: assessment)
        return fresh
    }

    /// That Apple now says nothing of a receipt is no reason to forget what it said before.
    private func keep(_ known: KnownFinding, for key: FindingKey, of assessment: Assessment) async {
        guard known.isLasting else { return }
        if case .unanswered = known.finding,
            await cache.lookUp(key, naming: assessment.originalTransactionIDs).finding?.answerHolds(
                for: freshness.staleIfError, at: known.askedAt) == true
        {
            return
        }
        await cache.insert(known, for: key)
    }

    /// Makes what Apple said of every receipt that names this original transaction useless, on all nodes.
    public func purge(originalTransactionID: String) async throws(StoreUnreachable) {
        try await cache.purge(originalTransactionID: originalTransactionID)
        observer.observe(.purged)
    }
}

// MARK: - Whether to ask

extension AppleDesk {
    /// Apple knows nothing of receipts that were made in Xcode.
    private func canAsk(about assessment: Assessment) -> Bool { assessment.receipt.environment != .xcode }

    /// Whether this receipt is one of those that no longer need the endpoint, which is on its way out. Only a receipt
    /// that says by itself that everything is paid for: for any other the endpoint stays the fallback.
    private func isMoved(_ assessment: Assessment, _ key: FindingKey) -> Bool {
        let environment: UpstreamEnvironment = assessment.receipt.environment == .production ? .production : .sandbox
        let share = lifecycle.knowledge(of: environment).dates.stage(at: assessment.now).shareMoved
        return assessment.standsAlone && key.signedContent.fraction < share
    }

    private func patience(for assessment: Assessment) -> Duration {
        // A little more than the deadline, so that the reason for a failure arrives.
        assessment.request.question.mode == .apple ? patience.deadline + .seconds(1) : patience.whenLocalSuffices
    }
}

extension KnownFinding {
    /// Whether Apple was asked again since. The time of one and the same finding wavers by some milliseconds where it is
    /// translated from one clock to another.
    fileprivate func isNewer(than other: KnownFinding) -> Bool {
        askedAt > other.askedAt.advanced(by: .milliseconds(100))
    }

    /// Why Apple gave no answer, if another node would get none either.
    fileprivate var failure: DegradedReason? {
        guard case .unanswered(let reason) = finding, reason.concernsAllNodes else { return nil }
        return reason
    }
}

extension Assessment {
    fileprivate var question: UpstreamQuestion {
        let bytes =
            switch request.evidence {
            case .appReceipt(let bytes): bytes
            }
        return UpstreamQuestion(
            receipt: bytes, bundleID: receipt.bundleID, callersSecret: request.question.callersSecret,
            excludesOldTransactions: request.question.excludesOldTransactions)
    }
}
