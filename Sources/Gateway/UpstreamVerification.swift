// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Caching
package import Receipts
internal import Waiting

/// Answers with Apple's data about a purchase, and decides if a request to Apple is needed and possible.
///
/// ```
/// assessment ──▶ Apple needed? ──▶ cached? ──▶ UpstreamFetcher ──▶ answer
///                     │ no            │ fresh        │ fails
///                     └──▶ evidence   └──▶ use it    └──▶ stale result, else evidence
/// ```
package final class UpstreamVerification: Sendable {
    private let connection: UpstreamConnection
    private let cache: any UpstreamCache
    private let unknownIDs: UnknownIDLimit
    private let fetcher: UpstreamFetcher
    private let policy: CachePolicy
    private let observer: any UpstreamObserver

    package init(
        _ connection: UpstreamConnection, fleet: FleetPorts, policy: CachePolicy, observer: any UpstreamObserver,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.connection = connection
        self.policy = policy
        self.observer = observer
        cache = fleet.cache
        unknownIDs = UnknownIDLimit(fleet.limiter)
        let client = UpstreamClient(connection, fleet: fleet, observer: observer, clock: clock)
        fetcher = UpstreamFetcher(client, fleet: fleet, policy: policy, observer: observer, clock: clock)
    }

    var flightCount: Int { fetcher.flightCount }
}

/// An upstream, and the rules for requests to it.
package struct UpstreamConnection: Sendable {
    package var upstream: any Upstream
    /// The App Store Server API; nil if it is not used.
    package var customers: (any CustomerLookup)?
    package var guards: UpstreamGuards
    package var lifecycle: UpstreamLifecycle
    package var timeouts: UpstreamTimeouts
    package var verifier: ReceiptVerifier

    package init(
        _ upstream: any Upstream, customers: (any CustomerLookup)? = nil, guards: UpstreamGuards,
        lifecycle: UpstreamLifecycle, timeouts: UpstreamTimeouts, verifier: ReceiptVerifier
    ) {
        self.upstream = upstream
        self.customers = customers
        self.guards = guards
        self.lifecycle = lifecycle
        self.timeouts = timeouts
        self.verifier = verifier
    }
}

// MARK: - Decision to send a request

extension UpstreamVerification {
    /// Answers with Apple's data if it is needed and available.
    ///
    /// Mode `auto` needs it if Apple may know more than the evidence; in the other modes the client requires it.
    func answer(to subject: Assessment) -> Step<Answer, any Error> {
        var assessment = subject
        let mode = assessment.request.options.mode, request = assessment.upstreamRequest
        let secret = request.sentSecret ?? connection.upstream.secret(forApp: request.subject.bundleID)
        let transactionID = hasServerAPIKey(forApp: request.subject.bundleID) ? assessment.transactionID : nil
        do throws(UndecidedReason) {
            assessment.api = try UpstreamAPI(
                answeringFor: request.subject, mode: mode, hasSecret: secret != nil, transactionID: transactionID)
        } catch {
            return .done(assessment.withoutUpstream(error))
        }
        let hasCredentials = secret != nil || assessment.api == .serverAPI
        guard mode != .auto || (hasCredentials && assessment.mayHaveChanged) else {
            return .done(assessment.withoutUpstream(.upstreamNotConfigured))
        }
        let key: CacheKey =
            if assessment.api == .serverAPI, let transactionID {
                CacheKey(request.subject, transactionID: transactionID)
            } else {
                CacheKey(request, at: assessment.api, with: secret)
            }
        guard mode != .auto || !isRamped(assessment, key) else { return .done(assessment.local()) }
        // From here on the evidence is held for seconds.
        guard assessment.request.reservation?.grow(by: assessment.byteCount) ?? true else {
            return .done(degraded(assessment, nil, because: .upstreamSaturated, nil))
        }
        return .wait { [assessment] in .done(try await self.answer(assessment, key)) }
    }

    func hasServerAPIKey(forApp bundleID: String?) -> Bool {
        bundleID.flatMap { connection.customers?.hasKey(forApp: $0) } ?? false
    }

    /// Returns true if this evidence belongs to the share that no longer uses an endpoint near its end. Only evidence
    /// that shows by itself that everything is paid for: for any other the endpoint stays the fallback.
    private func isRamped(_ assessment: Assessment, _ key: CacheKey) -> Bool {
        let dates = connection.lifecycle.state(of: key.api.endpoint(of: assessment.subject)).dates
        return assessment.isFullyPaid && key.subject.fraction < dates.stage(at: assessment.now).rampShare
    }
}

// MARK: - Answering

extension UpstreamVerification {
    /// Answers with the cached result of any node or with a new one, else with the best fallback.
    private func answer(_ assessment: Assessment, _ asked: CacheKey) async throws(GatewayError) -> Answer {
        let (key, lookup) = await fetcher.lookUp(asked, for: assessment)
        let (made, result) = try await answer(assessment, key, after: lookup)
        var answer = versioned(made, of: result, assessment, since: lookup.version)
        if key.api == .verifyReceipt, answer.upstreamBody == nil, answer.verdict == .genuine,
            assessment.showsLatestReceipt
        {
            answer.earlierUpstreamBody = await earlierBody(about: key, of: assessment, knowing: lookup.result)
        }
        return answer
    }

    private func answer(
        _ assessment: Assessment, _ key: CacheKey, after lookup: CacheLookup
    ) async throws(GatewayError) -> (answer: Answer, result: CachedResult?) {
        if let result = lookup.result,
            let answer = answer(from: result, assessment, key, isDetached: lookup.isDetached)
        {
            return (answer, result)
        }
        observer.observe(.lookedUp(.miss))
        guard assessment.request.options.mode != .local else { return (assessment.withoutUpstream(.notCached), nil) }
        return try await fetched(assessment, key, knowing: lookup.result)
    }

    /// Returns the answer made of a cached result; nil if a new one is needed.
    /// - Parameter isDetached: true if purges by other nodes may be missing.
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
            if let reason = assessment.failure(in: known.result) {
                return degraded(assessment, nil, because: reason, nil, status: known.status)
            }
        case .stale:
            observer.observe(.lookedUp(.stale))
            if assessment.request.options.mode != .local { fetcher.refresh(key, for: assessment, since: known) }
        }
        for reason in reasons { observer.observe(.degraded(reason)) }
        return assessment.answer(
            known, from: use == .stale ? .stale : .shared, .hit(freshUntil: known.freshUntil),
            degradedBecause: reasons)
    }

    /// Returns the answer made of a new result, which the first request fetches for all, and that result.
    /// - Parameter known: the cached result, which may not be used any more.
    private func fetched(
        _ assessment: Assessment, _ key: CacheKey, knowing known: CachedResult?
    ) async throws(GatewayError) -> (answer: Answer, result: CachedResult?) {
        let client = assessment.request.client
        // Who has a cached answer pays nothing, and keeps it.
        let isLimited = known?.answer == nil
        let hasPaid = isLimited ? try await unknownIDs.admit(client) : false
        let found = await fetcher.value(for: key, assessment, since: known, waitLimit: waitLimit(for: assessment))
        if !found.isFirst { observer.observe(.joinedFlight) }
        let reason: CacheStatus.Reason =
            known.map { $0.isFresh(at: assessment.now, maximumAge: nil) ? .request : .stale } ?? .miss
        let failed = CacheStatus.forwarded(reason, isCollapsed: !found.isFirst)
        if found.isFirst, client.unknownIDs != nil, case .unknownTransaction = found.value?.result {
            observer.observe(.unknownTransaction)
        }
        if isLimited, found.isFirst || hasPaid {
            try await unknownIDs.settle(client, hasPaid: hasPaid, found.value?.result)
        }
        guard let result = found.value else {
            return (degraded(assessment, known, because: .upstreamSlow, failed), known)
        }
        if let trouble = assessment.failure(in: result.result) {
            return (degraded(assessment, known, because: trouble, failed, status: result.status), known)
        }
        let answer = assessment.answer(
            result, from: .miss, .forwarded(reason, found: result, isCollapsed: !found.isFirst))
        return (answer ?? assessment.withoutUpstream(.upstreamDidNotAnswer), result)
    }

    private func waitLimit(for assessment: Assessment) -> Duration {
        // Slightly longer than the deadline, so that the reason for a failure arrives.
        assessment.request.options.mode == .apple
            ? connection.timeouts.deadline + .seconds(1) : connection.timeouts.softTimeout
    }

    /// Returns the best answer without Apple: a stale result, else the evidence, if the client accepts that.
    /// - Parameter status: Apple's status code, if any.
    private func degraded(
        _ assessment: Assessment, _ known: CachedResult?, because reason: DegradedReason, _ cacheStatus: CacheStatus?,
        status: Int? = nil
    ) -> Answer {
        observer.observe(.degraded(reason))
        if let known, policy.answersWithoutUpstream(known, about: assessment.subject, at: assessment.now),
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

    /// Returns the answer with a version that ends when the result behind it changes or is purged.
    private func versioned(
        _ answer: consuming Answer, of result: CachedResult?, _ assessment: Assessment,
        since version: InvalidationVersion
    ) -> Answer {
        answer.version = version
        guard let result else { return answer }
        let ids = assessment.transactionIDs
        // Watched before the comparison: a purge between the two puts the version out of date.
        let watching = version.watching(Array(Set(ids).union(result.transactionIDs)))
        let isCurrent = cache.purgeDecision(for: result, naming: ids) == .current
        answer.version = isCurrent ? watching : watching.outOfDate
        return answer
    }

    /// Returns Apple's JSON of an earlier answer to this receipt, of any age and with any transactions left out.
    private func earlierBody(
        about key: CacheKey, of assessment: Assessment, knowing known: CachedResult?
    ) async -> [UInt8]? {
        if let body = known?.upstreamBody { return body }
        var other = key
        other.options.excludesOldTransactions.toggle()
        return await cache.lookUp(other, naming: assessment.transactionIDs).result?.upstreamBody
    }
}
