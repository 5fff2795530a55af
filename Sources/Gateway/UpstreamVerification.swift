// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Resilience
package import Receipts
internal import Cryptography

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
    private let states: NotifiedStates?
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
        states = NotifiedStates(fleet, observer: observer)
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
    /// Returns the interfaces that are permitted for the receipts of an app.
    package var receiptUpstream: @Sendable (_ bundleID: String?) -> ReceiptUpstream
    package var guards: UpstreamGuards
    package var lifecycle: UpstreamLifecycle
    package var timeouts: UpstreamTimeouts
    package var verifier: ReceiptVerifier

    package init(
        _ upstream: any Upstream, customers: (any CustomerLookup)? = nil,
        receiptUpstream: @escaping @Sendable (_ bundleID: String?) -> ReceiptUpstream = { _ in .both },
        guards: UpstreamGuards, lifecycle: UpstreamLifecycle, timeouts: UpstreamTimeouts, verifier: ReceiptVerifier
    ) {
        (self.upstream, self.customers, self.receiptUpstream) = (upstream, customers, receiptUpstream)
        (self.guards, self.lifecycle) = (guards, lifecycle)
        (self.timeouts, self.verifier) = (timeouts, verifier)
    }
}

// MARK: - Decision to send a request

extension UpstreamVerification {
    /// Answers with Apple's data if it is needed and available.
    ///
    /// Mode `auto` needs it if Apple may know more than the evidence; in the other modes the client requires it.
    func answer(to assessment: Assessment) -> Step<Answer, any Error> {
        guard assessment.request.options.mode != .auto || assessment.mayHaveChanged else {
            return .done(assessment.withoutUpstream(.upstreamNotConfigured))
        }
        let apis: [UpstreamAPI]
        do throws(UndecidedReason) {
            apis = try interfaces(for: assessment)
        } catch {
            return .done(withoutInterface(assessment) ?? assessment.withoutUpstream(error))
        }
        guard !apis.isEmpty else { return .done(withoutInterface(assessment) ?? assessment.local()) }
        // From here on the evidence is held for seconds.
        guard assessment.request.reservation?.grow(by: assessment.byteCount) ?? true else {
            return .done(degraded(assessment, [UpstreamGap(.upstreamSaturated)]))
        }
        return .wait { .done(try await self.answer(assessment, from: apis)) }
    }

    /// Returns the labelled answer if a state that a notification reported is missing; nil if none is.
    private func withoutInterface(_ assessment: Assessment) -> Answer? {
        assessment.lacksStates ? degraded(assessment, [UpstreamGap(.sharedStoreUnreachable)]) : nil
    }

    /// Returns true if Apple's data is needed, and an interface can give it.
    func isAsked(about assessment: Assessment) -> Bool {
        guard assessment.request.options.mode != .auto || assessment.mayHaveChanged else { return false }
        return (try? interfaces(for: assessment))?.isEmpty == false
    }

    func hasServerAPIKey(forApp bundleID: String?) -> Bool {
        bundleID.flatMap { connection.customers?.hasKey(forApp: $0) } ?? false
    }

    private func interfaces(for assessment: Assessment) throws(UndecidedReason) -> [UpstreamAPI] {
        let subject = assessment.subject, lookupID = assessment.lookupIDs.first
        let endpoint = UpstreamAPI.verifyReceipt.endpoint(of: subject)
        // One customer's receipts move together, where they name the customer.
        let identity = lookupID.map(VerificationSubject.Identity.transaction) ?? subject.identity
        let conditions = UpstreamConditions(
            permitted: connection.receiptUpstream(subject.bundleID), hasSecret: secret(for: assessment) != nil,
            hasServerAPI: lookupID != nil && hasServerAPIKey(forApp: subject.bundleID),
            isMoved: subject.evidence?.receiptBytes != nil
                && connection.lifecycle.moves(identity.fraction, from: endpoint, at: assessment.now))
        return try UpstreamAPI.choice(
            for: subject, mode: assessment.request.options.mode, isFullyPaid: assessment.isFullyPaid, conditions)
    }

    private func secret(for assessment: Assessment) -> Secret? {
        assessment.request.options.sentSecret ?? connection.upstream.secret(forApp: assessment.subject.bundleID)
    }
}

// MARK: - Answering

extension UpstreamVerification {
    /// Answers with the result of the first interface that gives one, else with the best fallback.
    private func answer(_ assessment: Assessment, from apis: [UpstreamAPI]) async throws(GatewayError) -> Answer {
        let start = ContinuousClock.now, end = start + waitLimit(for: assessment)
        var gaps: [UpstreamGap] = []
        for api in apis {
            var assessment = assessment
            assessment.api = api
            // A slow interface leaves time for the next one.
            let limit = api == apis.last ? end : start + start.duration(to: end) / 2
            switch try await found(assessment, by: limit) {
            case .success(let found): return answer(assessment, found)
            case .failure(let gap): gaps.append(gap)
            }
            guard gaps.allSatisfy({ $0.isForAnotherInterface(assessment.request.options) }) else { break }
        }
        // What Apple has reported by itself outweighs the evidence and older results.
        let assessment =
            assessment.request.options.mode == .apple
            ? assessment : await states?.adding(assessment.notifiableChains, to: assessment) ?? assessment
        let answer = degraded(assessment, gaps)
        guard apis.contains(.verifyReceipt), answer.upstreamBody == nil, answer.verdict == .genuine,
            assessment.showsLatestReceipt
        else { return answer }
        return answer.replacing(earlierUpstreamBody: await earlierBody(about: assessment, gaps))
    }

    /// Returns the result of one interface.
    private func found(
        _ assessment: Assessment, by end: ContinuousClock.Instant
    ) async throws(GatewayError) -> Result<FoundResult, UpstreamGap> {
        switch assessment.api {
        case .verifyReceipt: try await found(verifyReceiptKey(assessment), for: assessment, by: end)
        case .serverAPI: try await customers(of: assessment, by: end)
        }
    }

    private func verifyReceiptKey(_ assessment: Assessment) -> CacheKey {
        CacheKey(assessment.upstreamRequest, at: .verifyReceipt, with: secret(for: assessment))
    }

    /// Returns the purchases of all customers in the evidence.
    private func customers(
        of assessment: Assessment, by end: ContinuousClock.Instant
    ) async throws(GatewayError) -> Result<FoundResult, UpstreamGap> {
        var customers = CustomerResults(of: assessment)
        for id in assessment.lookupIDs where !customers.isNamed(id) {
            let key = CacheKey(assessment.subject, transactionID: id)
            switch try await found(key, for: assessment, by: customers.mayRequest ? end : nil) {
            case .success(let found): customers.add(found, for: id)
            case .failure(let gap): customers.add(gap, for: id, stale: stale(gap, key, assessment))
            }
        }
        return customers.value()
    }

    /// Returns the cached result that may be used instead of an answer of Apple; nil if there is none.
    private func stale(_ gap: UpstreamGap, _ key: CacheKey, _ assessment: Assessment) -> FoundResult? {
        guard assessment.request.options.mode != .local, let known = gap.known?.result,
            policy.answersWithoutUpstream(known, about: assessment.subject, at: assessment.now)
        else { return nil }
        return FoundResult(known, .stale, .hit(freshUntil: known.freshUntil), cache.version(for: key))
    }
}

// MARK: - Results

extension UpstreamVerification {
    /// Returns the cached result of any node, or a new one.
    /// - Parameter end: the end of the wait for a new one; nil permits none.
    private func found(
        _ asked: CacheKey, for assessment: Assessment, by end: ContinuousClock.Instant?
    ) async throws(GatewayError) -> Result<FoundResult, UpstreamGap> {
        let (key, lookup) = await fetcher.lookUp(asked, for: assessment)
        if let found = cached(lookup, assessment, key) { return found }
        observer.observe(.lookedUp(.miss))
        guard assessment.request.options.mode != .local, let end else {
            var gap = UpstreamGap()
            gap.known = lookup.result.map { KnownResult(result: $0, api: key.api) }
            return .failure(gap)
        }
        return try await fetched(assessment, key, after: lookup, by: end)
    }

    /// Returns the cached result; nil if a new one is needed.
    private func cached(
        _ lookup: CacheLookup, _ assessment: Assessment, _ key: CacheKey
    ) -> Result<FoundResult, UpstreamGap>? {
        guard let known = lookup.result, assessment.mayUse(known, under: key) else { return nil }
        let use = policy.use(of: known, for: assessment), failure = assessment.failure(in: known.result)
        switch use {
        case .expired: return nil
        case .stale where failure != nil: return nil
        case .fresh, .dueForRefresh:
            observer.observe(.lookedUp(.shared))
            if use == .dueForRefresh {
                observer.observe(.refreshedEarly)
                fetcher.refresh(key, for: assessment, since: known)
            }
            if let failure {
                var gap = UpstreamGap(failure)
                gap.status = known.status
                return .failure(gap)
            }
        case .stale:
            observer.observe(.lookedUp(.stale))
            if assessment.request.options.mode != .local { fetcher.refresh(key, for: assessment, since: known) }
        }
        var found = FoundResult(
            known, use == .stale ? .stale : .shared, .hit(freshUntil: known.freshUntil), lookup.version)
        // Purges by other nodes may be missing.
        if lookup.isDetached { found.reasons.append(.sharedStoreUnreachable) }
        return .success(found)
    }

    /// Returns a new result, which the first request fetches for all.
    private func fetched(
        _ assessment: Assessment, _ key: CacheKey, after lookup: CacheLookup, by end: ContinuousClock.Instant
    ) async throws(GatewayError) -> Result<FoundResult, UpstreamGap> {
        let client = assessment.request.client, known = lookup.result
        // A client with a cached answer pays nothing, and keeps it.
        let isLimited = known?.answer == nil
        let hasPaid = isLimited ? try await unknownIDs.admit(client) : false
        let found = await fetcher.value(for: key, assessment, since: known, by: end)
        if !found.isFirst { observer.observe(.joinedFlight) }
        if found.isFirst, client.unknownIDs != nil, case .unknownTransaction = found.value?.result {
            observer.observe(.unknownTransaction)
        }
        if isLimited, found.isFirst || hasPaid {
            try await unknownIDs.settle(client, hasPaid: hasPaid, found.value?.result)
        }
        let reason: CacheStatus.Reason =
            known.map { $0.isFresh(at: assessment.now, maximumAge: nil) ? .request : .stale } ?? .miss
        if let result = found.value, assessment.failure(in: result.result) == nil {
            let status = CacheStatus.forwarded(reason, found: result, isCollapsed: !found.isFirst)
            return .success(FoundResult(result, .miss, status, lookup.version))
        }
        var gap = UpstreamGap(found.value.flatMap { assessment.failure(in: $0.result) } ?? .upstreamSlow)
        gap.known = known.map { KnownResult(result: $0, api: key.api) }
        gap.status = found.value?.status
        gap.cacheStatus = .forwarded(reason, isCollapsed: !found.isFirst)
        return .failure(gap)
    }

    private func waitLimit(for assessment: Assessment) -> Duration {
        // Slightly longer than the deadline, so that the reason for a failure arrives.
        let longest = connection.timeouts.deadline + .seconds(1), options = assessment.request.options
        return options.waitLimit.map { min($0, longest) }
            ?? (options.mode == .apple ? longest : connection.timeouts.softTimeout)
    }
}

// MARK: - Answers

extension UpstreamVerification {
    /// Returns the answer made of a result.
    private func answer(_ assessment: Assessment, _ found: FoundResult) -> Answer {
        for reason in found.reasons { observer.observe(.degraded(reason)) }
        let made = assessment.answer(
            found.result, from: found.cache, found.cacheStatus, degradedBecause: found.reasons)
        return versioned(made ?? assessment.withoutUpstream(.upstreamDidNotAnswer), of: found, assessment)
    }

    /// Returns the answer with a version that ends when a result behind it changes or is purged.
    private func versioned(_ answer: Answer, of found: FoundResult, _ assessment: Assessment) -> Answer {
        let ids = assessment.transactionIDs
        // Watched before the comparison: a purge between the two puts the version out of date.
        let watching = found.version.watching(Array(Set(ids).union(found.parts.flatMap(\.transactionIDs))))
        let isCurrent = found.parts.allSatisfy {
            cache.purgeDecision(for: $0, naming: ids, in: assessment.subject.bundleID) == .current
        }
        return answer.replacing(version: isCurrent ? watching : watching.outOfDate)
    }

    /// Returns the best answer without Apple: the newest stale result, else the evidence, if the client accepts that.
    private func degraded(_ assessment: Assessment, _ gaps: [UpstreamGap]) -> Answer {
        let reasons = gaps.flatMap(\.reasons).withoutRepetition
        guard !reasons.isEmpty else { return assessment.withoutUpstream(.notCached) }
        for reason in reasons { observer.observe(.degraded(reason)) }
        let answer =
            staleAnswer(assessment, gaps, reasons)
            ?? assessment.withoutUpstream(.upstreamDidNotAnswer, degradedBecause: reasons)
        var provenance = answer.provenance
        provenance.upstreamStatus = gaps.lazy.compactMap(\.status).first
        return answer.replacing(provenance: provenance, cacheStatus: gaps.first?.cacheStatus)
    }

    private func staleAnswer(
        _ assessment: Assessment, _ gaps: [UpstreamGap], _ reasons: [DegradedReason]
    ) -> Answer? {
        let usable = gaps.compactMap(\.known).filter {
            $0.isUsable || policy.answersWithoutUpstream($0.result, about: assessment.subject, at: assessment.now)
        }
        // An older answer about all customers is more than a new one about some.
        let complete = usable.filter(\.isComplete)
        let newest = (complete.isEmpty ? usable : complete).max { $0.result.fetchedAt < $1.result.fetchedAt }
        guard let newest else { return nil }
        var assessment = assessment
        assessment.api = newest.api
        return assessment.answer(newest.result, from: .stale, nil, degradedBecause: reasons)
    }

    /// Returns Apple's JSON of an earlier answer to this receipt, of any age and with any transactions left out.
    private func earlierBody(about assessment: Assessment, _ gaps: [UpstreamGap]) async -> [UInt8]? {
        if let body = gaps.lazy.compactMap({ $0.known?.result.upstreamBody }).first { return body }
        var other = verifyReceiptKey(assessment)
        other.options.excludesOldTransactions.toggle()
        return await cache.lookUp(other, naming: assessment.transactionIDs).result?.upstreamBody
    }
}
