// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// Answers with what Apple knows of a purchase, and decides when Apple needs not be asked, or cannot.
///
/// ```
/// assessment ──▶ must Apple be asked? ──▶ cached? ──▶ UpstreamFetcher ──▶ answer
///                     │ no                  │ fresh        │ fails
///                     └──▶ what is signed   └──▶ repeat it └──▶ what was cached, else what is signed
/// ```
public final class UpstreamVerification: Sendable {
    private let connection: UpstreamConnection
    private let cache: any UpstreamCache
    private let fetcher: UpstreamFetcher
    private let policy: CachePolicy
    private let observer: any UpstreamObserver

    /// Creates the way to one upstream.
    /// - Parameters:
    ///   - connection: the upstream.
    ///   - fleet: what the nodes share.
    ///   - policy: decides what cached findings are good for.
    ///   - observer: told what happens.
    ///   - clock: the time.
    public init(
        _ connection: UpstreamConnection, fleet: FleetPorts, policy: CachePolicy, observer: any UpstreamObserver,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.connection = connection
        self.policy = policy
        self.observer = observer
        cache = fleet.cache
        let inquiries = UpstreamClient(
            connection.upstream, guards: connection.guards, verifier: connection.verifier,
            timeouts: connection.timeouts, limiter: fleet.limiter, fleetState: fleet.fleetState, observer: observer,
            clock: clock)
        fetcher = UpstreamFetcher(inquiries, fleet: fleet, policy: policy, observer: observer, clock: clock)
    }

    /// The number of receipts that Apple is being asked about.
    var flightCount: Int { fetcher.flightCount }
}

/// An upstream, and the rules for asking it.
public struct UpstreamConnection: Sendable {
    /// The upstream.
    public var upstream: any Upstream
    /// The guards of its endpoints.
    public var guards: UpstreamGuards
    /// What is known of the end of its endpoints.
    public var lifecycle: UpstreamLifecycle
    /// How long it is waited for.
    public var timeouts: UpstreamTimeouts
    /// Verifies the receipts that its answers carry.
    public var verifier: ReceiptVerifier

    /// Creates the connection to an upstream.
    public init(
        _ upstream: any Upstream, guards: UpstreamGuards, lifecycle: UpstreamLifecycle, timeouts: UpstreamTimeouts,
        verifier: ReceiptVerifier
    ) {
        self.upstream = upstream
        self.guards = guards
        self.lifecycle = lifecycle
        self.timeouts = timeouts
        self.verifier = verifier
    }
}

// MARK: - Whether to ask

extension UpstreamVerification {
    /// Answers with what Apple knows, if it must be asked and can be.
    ///
    /// In mode `auto` Apple is asked if it may know more than the receipt, in the others because the caller wants it.
    func answer(to assessment: Assessment) -> Step<Answer, any Error> {
        let mode = assessment.request.options.mode
        let api: UpstreamAPI
        do throws(UndecidedReason) {
            api = try UpstreamAPI(answeringFor: assessment.subject)
        } catch {
            return .done(assessment.withoutUpstream(error))
        }
        let request = assessment.upstreamRequest
        let secret = request.callersSecret ?? connection.upstream.secret(forApp: request.subject.bundleID)
        guard mode != .auto || (secret != nil && assessment.mayHaveChanged) else {
            return .done(assessment.withoutUpstream(.upstreamNotConfigured))
        }
        let key = CacheKey(request, at: api, with: secret)
        guard mode != .auto || !isMoved(assessment, key) else { return .done(assessment.local()) }
        // From here on the evidence is held for seconds.
        guard assessment.request.reservation?.grow(by: assessment.byteCount) ?? true else {
            return .done(degraded(assessment, nil, because: .upstreamSaturated, nil))
        }
        return .wait { .done(await self.answer(assessment, key)) }
    }

    /// Whether this evidence is a part of that which no longer needs the endpoint, which is on its way out. Only evidence
    /// that says by itself that everything is paid for: for any other the endpoint stays the fallback.
    private func isMoved(_ assessment: Assessment, _ key: CacheKey) -> Bool {
        let dates = connection.lifecycle.state(of: key.api.endpoint(of: assessment.subject)).dates
        return assessment.standsAlone && key.subject.fraction < dates.stage(at: assessment.now).shareMoved
    }
}

// MARK: - Answering

extension UpstreamVerification {
    /// Answers with what Apple says, from whichever node knows it; without Apple, with the best that is left.
    private func answer(_ assessment: Assessment, _ key: CacheKey) async -> Answer {
        let lookup = await cache.lookUp(key, naming: assessment.originalTransactionIDs)
        let (made, result) = await answer(assessment, key, after: lookup)
        var answer = stamped(made, of: result, assessment, since: lookup.version)
        if answer.upstreamBody == nil, answer.verdict == .genuine, assessment.showsLatestReceipt {
            answer.earlierUpstreamBody = await earlierBody(about: key, of: assessment, knowing: lookup.result)
        }
        return answer
    }

    /// Returns the answer and the finding it is made of.
    private func answer(
        _ assessment: Assessment, _ key: CacheKey, after lookup: CacheLookup
    ) async -> (answer: Answer, result: CachedResult?) {
        if let result = lookup.result,
            let answer = answer(from: result, assessment, key, isDetached: lookup.isDetached)
        {
            return (answer, result)
        }
        return await fetched(assessment, key, knowing: lookup.result)
    }

    /// Returns the answer made of a cached finding; nil if a new one has to be fetched first.
    /// - Parameter isDetached: whether purges by other nodes may be missing.
    private func answer(
        from known: CachedResult, _ assessment: Assessment, _ key: CacheKey, isDetached: Bool
    ) -> Answer? {
        let reasons: [DegradedReason] = isDetached ? [.sharedStoreUnreachable] : []
        let use = policy.use(of: known, for: assessment)
        switch use {
        case .expired: return nil
        case .fresh, .dueForRefresh:
            observer.observe(.lookedUp(.shared))
            if use == .dueForRefresh {
                observer.observe(.refreshedEarly)
                fetcher.refresh(key, for: assessment, since: known)
            }
            if case .unanswered(let reason) = known.result {
                return degraded(assessment, nil, because: reason, nil, status: known.status)
            }
        case .stale:
            observer.observe(.lookedUp(.stale))
            fetcher.refresh(key, for: assessment, since: known)
        }
        for reason in reasons { observer.observe(.degraded(reason)) }
        return assessment.answer(
            known, from: use == .stale ? .stale : .shared, .hit(freshUntil: known.freshUntil),
            degradedBecause: reasons)
    }

    /// Returns the answer made of what Apple says, which the first request fetches for all, and the finding it is made of.
    /// - Parameter known: the cached finding, which is not good enough.
    private func fetched(
        _ assessment: Assessment, _ key: CacheKey, knowing known: CachedResult?
    ) async -> (answer: Answer, result: CachedResult?) {
        observer.observe(.lookedUp(.miss))
        let found = await fetcher.value(for: key, assessment, since: known, waitLimit: waitLimit(for: assessment))
        if !found.isFirst { observer.observe(.joinedFlight) }
        let reason = known.map { assessment.reasonToAsk(knowing: $0) } ?? .miss
        let failed = CacheStatus.forwarded(reason, isCollapsed: !found.isFirst)
        guard let result = found.value else {
            return (degraded(assessment, known, because: .upstreamSlow, failed), known)
        }
        if case .unanswered(let trouble) = result.result {
            return (degraded(assessment, known, because: trouble, failed, status: result.status), known)
        }
        let answer = assessment.answer(
            result, from: .miss, .forwarded(reason, found: result, isCollapsed: !found.isFirst))
        return (answer ?? assessment.local(), result)
    }

    private func waitLimit(for assessment: Assessment) -> Duration {
        // A little more than the deadline, so that the reason for a failure arrives.
        assessment.request.options.mode == .apple
            ? connection.timeouts.deadline + .seconds(1) : connection.timeouts.softTimeout
    }

    /// Returns the best answer without Apple: what it said before, else what is signed, if the caller takes that.
    /// - Parameter status: Apple's status code, if it gave one.
    private func degraded(
        _ assessment: Assessment, _ known: CachedResult?, because reason: DegradedReason, _ cacheStatus: CacheStatus?,
        status: Int? = nil
    ) -> Answer {
        observer.observe(.degraded(reason))
        if let known, policy.answersWithoutUpstream(known, at: assessment.now),
            var answer = assessment.answer(known, from: .stale, cacheStatus, degradedBecause: [reason])
        {
            answer.provenance.upstreamStatus = status
            return answer
        }
        var answer = assessment.withoutUpstream(.upstreamDidNotAnswer, degradedBecause: [reason])
        answer.cacheStatus = cacheStatus
        answer.provenance.upstreamStatus = status
        return answer
    }

    /// Returns the answer as one that is repeated until the finding it is made of changes or is purged.
    private func stamped(
        _ answer: consuming Answer, of result: CachedResult?, _ assessment: Assessment,
        since version: InvalidationVersion
    ) -> Answer {
        answer.version = version
        guard let result else { return answer }
        let ids = assessment.originalTransactionIDs
        // Watched before it is judged: a purge between the two puts the stamp out of date.
        let watching = version.watching(Array(Set(ids).union(result.originalTransactionIDs)))
        let isCurrent = cache.judge(result, naming: ids) == .current
        answer.version = isCurrent ? watching : watching.outOfDate
        return answer
    }

    /// Returns Apple's JSON of an earlier answer to this receipt, however old and whichever transactions it leaves out.
    private func earlierBody(
        about key: CacheKey, of assessment: Assessment, knowing known: CachedResult?
    ) async -> [UInt8]? {
        if let body = known?.upstreamBody { return body }
        var other = key
        other.options.excludesOldTransactions.toggle()
        return await cache.lookUp(other, naming: assessment.originalTransactionIDs).result?.upstreamBody
    }
}
