// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Receipts
internal import Resilience

/// Answers with Apple's data about a purchase, and decides if a request to Apple is needed and possible.
///
/// ```
/// evaluated ──▶ Apple needed? ──▶ cached? ──▶ UpstreamFetcher ──▶ answer
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
    private let observe: UpstreamObserver

    package init(
        _ connection: UpstreamConnection, fleet: FleetPorts, policy: CachePolicy, observe: @escaping UpstreamObserver,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.connection = connection
        self.policy = policy
        self.observe = observe
        cache = fleet.cache
        states = NotifiedStates(fleet, observe: observe)
        unknownIDs = UnknownIDLimit(fleet.limiter)
        let client = UpstreamClient(connection, fleet: fleet, observe: observe, clock: clock)
        fetcher = UpstreamFetcher(client, fleet: fleet, policy: policy, observe: observe, clock: clock)
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

    package init(
        _ upstream: any Upstream, customers: (any CustomerLookup)? = nil,
        receiptUpstream: @escaping @Sendable (_ bundleID: String?) -> ReceiptUpstream = { _ in .both },
        guards: UpstreamGuards, lifecycle: UpstreamLifecycle, timeouts: UpstreamTimeouts
    ) {
        (self.upstream, self.customers, self.receiptUpstream) = (upstream, customers, receiptUpstream)
        (self.guards, self.lifecycle, self.timeouts) = (guards, lifecycle, timeouts)
    }
}

// MARK: - Decision to send a request

extension UpstreamVerification {
    /// Answers with Apple's data if it is needed and available.
    ///
    /// Mode `auto` needs it if Apple may know more than the evidence; in the other modes the client requires it.
    func answer(to evaluated: EvaluatedRequest) -> Step<Answer, any Error> {
        guard evaluated.request.options.mode != .auto || evaluated.mayHaveChanged else {
            return .done(evaluated.withoutUpstream(.upstreamNotConfigured))
        }
        let apis: [UpstreamAPI]
        do throws(UndecidedReason) {
            apis = try interfaces(for: evaluated)
        } catch {
            return .done(withoutInterface(evaluated) ?? evaluated.withoutUpstream(error))
        }
        guard !apis.isEmpty else { return .done(withoutInterface(evaluated) ?? evaluated.local()) }
        // From here on the evidence is held for seconds.
        let held = evaluated.holdingValues
        guard evaluated.request.reservation?.grow(by: held.byteCount) ?? true else {
            return .done(degraded(evaluated, [MissingAnswer(.upstreamSaturated)]))
        }
        return .wait { .done(try await self.answer(held, from: apis)) }
    }

    /// Returns the labelled answer if a state that a notification reported is missing; nil if none is.
    private func withoutInterface(_ evaluated: EvaluatedRequest) -> Answer? {
        evaluated.lacksStates ? degraded(evaluated, [MissingAnswer(.sharedStoreUnreachable)]) : nil
    }

    /// Returns true if Apple's data is needed, and an interface can give it.
    func isAsked(about evaluated: EvaluatedRequest) -> Bool {
        guard evaluated.request.options.mode != .auto || evaluated.mayHaveChanged else { return false }
        return (try? interfaces(for: evaluated))?.isEmpty == false
    }

    func hasServerAPIKey(forApp bundleID: String?) -> Bool {
        bundleID.flatMap { connection.customers?.hasKey(forApp: $0) } ?? false
    }

    private func interfaces(for evaluated: EvaluatedRequest) throws(UndecidedReason) -> [UpstreamAPI] {
        let subject = evaluated.subject
        let conditions = UpstreamConditions(
            permitted: connection.receiptUpstream(subject.bundleID), hasSecret: secret(for: evaluated) != nil,
            hasServerAPI: hasServerAPIKey(forApp: subject.bundleID) && evaluated.lookupIDs.first != nil,
            isMoved: { self.isMoved(evaluated) })
        return try UpstreamAPI.choice(
            for: subject, mode: evaluated.request.options.mode, isFullyPaid: { evaluated.isFullyPaid }, conditions)
    }

    /// Returns true for a receipt of the share that no longer depends on `verifyReceipt`. One customer's receipts move
    /// together, where they name the customer.
    private func isMoved(_ evaluated: EvaluatedRequest) -> Bool {
        var identity: VerificationSubject.Identity {
            evaluated.lookupIDs.first.map { .transaction($0) } ?? evaluated.subject.identity
        }
        let endpoint = UpstreamAPI.verifyReceipt.endpoint(of: evaluated.subject)
        return connection.lifecycle.moves(identity.fraction, from: endpoint, at: evaluated.now)
    }

    /// Returns the interface that would answer the request with all of the customer's purchases; nil if none can.
    func interface(for evaluated: EvaluatedRequest) -> UpstreamAPI? {
        (try? interfaces(for: evaluated))?.first { canAnswer(evaluated, by: $0) }
    }

    /// Returns true if this interface can answer the request with all purchases, whichever the operator permits for
    /// receipts. Without a secret `verifyReceipt` says nothing about subscriptions.
    func canAnswer(_ evaluated: EvaluatedRequest, by api: UpstreamAPI) -> Bool {
        switch api {
        case .verifyReceipt: evaluated.subject.evidence?.receiptBytes != nil && secret(for: evaluated) != nil
        case .serverAPI: hasServerAPIKey(forApp: evaluated.subject.bundleID) && evaluated.lookupIDs.first != nil
        }
    }

    func guards(of api: UpstreamAPI, for evaluated: EvaluatedRequest) -> UpstreamGuard {
        connection.guards[api.endpoint(of: evaluated.subject)]
    }

    private func secret(for evaluated: EvaluatedRequest) -> Secret? {
        evaluated.request.options.sentSecret ?? connection.upstream.secret(forApp: evaluated.subject.bundleID)
    }
}

// MARK: - Answering

extension UpstreamVerification {
    /// Answers with the first result of the interfaces, else with the best fallback.
    private func answer(_ evaluated: EvaluatedRequest, from apis: [UpstreamAPI]) async throws(GatewayError) -> Answer {
        let start = ContinuousClock.now, end = start + waitLimit(for: evaluated)
        var gaps: [MissingAnswer] = []
        for api in apis {
            let evaluated = evaluated.answered(by: api)
            // A slow interface leaves time for the next interface.
            let limit = api == apis.last ? end : start + start.duration(to: end) / 2
            switch try await found(evaluated, by: limit) {
            case .success(let found): return answer(evaluated, found)
            case .failure(var gap):
                gap.api = api
                gaps.append(gap)
            }
            guard gaps.allSatisfy({ $0.isForAnotherInterface(evaluated.request.options) }) else { break }
        }
        // What Apple has reported by itself outweighs the evidence and older results.
        let evaluated =
            evaluated.request.options.mode == .apple
            ? evaluated : await states?.addingAll(to: evaluated) ?? evaluated
        let answer = degraded(evaluated, gaps)
        guard apis.contains(.verifyReceipt), answer.upstreamBody == nil, answer.verdict == .genuine,
            evaluated.showsLatestReceipt
        else { return answer }
        return answer.replacing(earlierUpstreamBody: await earlierBody(about: evaluated, gaps))
    }

    /// Returns the answer of one interface, which counts as no answer to a client; else the reason why there is none.
    func answer(to evaluated: EvaluatedRequest, by api: UpstreamAPI) async -> Result<Answer, DegradedReason> {
        let evaluated = evaluated.answered(by: api).holdingValues
        guard let result = try? await found(evaluated, by: ContinuousClock.now + waitLimit(for: evaluated)) else {
            return .failure(.upstreamSaturated)
        }
        switch result {
        case .failure(let gap): return .failure(gap.reasons.first ?? .upstreamSlow)
        case .success(let found):
            let answer = evaluated.answer(
                found.result, from: found.cache, found.cacheStatus, degradedBecause: found.reasons)
            guard let answer, found.reasons.isEmpty else { return .failure(found.reasons.first ?? .upstreamSlow) }
            return .success(answer)
        }
    }

    private func found(
        _ evaluated: EvaluatedRequest, by end: ContinuousClock.Instant
    ) async throws(GatewayError) -> Result<UsableResult, MissingAnswer> {
        switch evaluated.api {
        case .verifyReceipt: try await found(verifyReceiptKey(evaluated), for: evaluated, by: end)
        case .serverAPI: try await customers(of: evaluated, by: end)
        }
    }

    private func verifyReceiptKey(_ evaluated: EvaluatedRequest) -> CacheKey {
        CacheKey(evaluated.upstreamRequest, at: .verifyReceipt, with: secret(for: evaluated))
    }

    /// Returns the purchases of all customers in the evidence.
    private func customers(
        of evaluated: EvaluatedRequest, by end: ContinuousClock.Instant
    ) async throws(GatewayError) -> Result<UsableResult, MissingAnswer> {
        var customers = CustomerResults(of: evaluated)
        for id in evaluated.lookupIDs where !customers.isNamed(id) {
            guard customers.mayLookUp else {
                customers.add(MissingAnswer(.customerLimit), for: id, stale: nil)
                continue
            }
            let key = CacheKey(evaluated.subject, transactionID: id)
            switch try await found(key, for: evaluated, by: customers.mayRequest ? end : nil) {
            case .success(let found): customers.add(found, for: id)
            case .failure(let gap): customers.add(gap, for: id, stale: stale(gap, key, evaluated))
            }
        }
        return customers.value()
    }

    /// Returns the cached result that may be used instead of an answer of Apple; nil if there is none.
    private func stale(_ gap: MissingAnswer, _ key: CacheKey, _ evaluated: EvaluatedRequest) -> UsableResult? {
        guard evaluated.request.options.mode != .local, let known = gap.known,
            policy.answersWithoutUpstream(known, about: evaluated.subject, at: evaluated.now)
        else { return nil }
        return UsableResult(known, .stale, .hit(freshUntil: known.freshUntil), cache.version(for: key))
    }
}

// MARK: - Results

extension UpstreamVerification {
    /// Returns the cached result of any node, or a new result.
    /// - Parameter end: the end of the wait for a new result; nil permits no wait.
    private func found(
        _ asked: CacheKey, for evaluated: EvaluatedRequest, by end: ContinuousClock.Instant?
    ) async throws(GatewayError) -> Result<UsableResult, MissingAnswer> {
        let (key, lookup) = await fetcher.lookUp(asked, for: evaluated)
        if let found = cached(lookup, evaluated, key) ?? knownFailure(lookup, evaluated, key) { return found }
        observe(.lookedUp(.miss))
        guard evaluated.request.options.mode != .local, let end else {
            var gap = MissingAnswer()
            gap.known = lookup.result
            return .failure(gap)
        }
        return try await fetched(evaluated, key, after: lookup, by: end)
    }

    /// Returns the cached result; nil if a new result is needed.
    private func cached(
        _ lookup: CacheLookup, _ evaluated: EvaluatedRequest, _ key: CacheKey
    ) -> Result<UsableResult, MissingAnswer>? {
        guard let known = lookup.result, evaluated.mayUse(known, under: key) else { return nil }
        let use = policy.use(of: known, for: evaluated), failure = evaluated.failure(in: known.result)
        switch use {
        case .expired: return nil
        case .stale where failure != nil: return nil
        case .fresh, .dueForRefresh:
            observe(.lookedUp(.shared))
            if use == .dueForRefresh {
                if fetcher.refresh(key, for: evaluated, since: known) { observe(.refreshedEarly) }
            }
            if let failure {
                var gap = MissingAnswer(failure)
                gap.status = known.status
                return .failure(gap)
            }
        case .stale:
            observe(.lookedUp(.stale))
            if evaluated.request.options.mode != .local { fetcher.refresh(key, for: evaluated, since: known) }
        }
        var found = UsableResult(
            known, use == .stale ? .stale : .shared, .hit(freshUntil: known.freshUntil), lookup.version)
        // Purges by other nodes may be missing.
        if lookup.isDetached { found.reasons.append(.sharedStoreUnreachable) }
        return .success(found)
    }

    /// Returns the failure of the last request to Apple, with the cached answer from before it; nil if Apple is asked
    /// again.
    private func knownFailure(
        _ lookup: CacheLookup, _ evaluated: EvaluatedRequest, _ key: CacheKey
    ) -> Result<UsableResult, MissingAnswer>? {
        guard evaluated.request.options.mode != .local,
            let failure = fetcher.knownFailure(of: key, for: evaluated, since: lookup.result)
        else { return nil }
        let found = cached(CacheLookup(failure, version: lookup.version), evaluated, key)
        guard case .failure(var gap) = found else { return found }
        gap.known = lookup.result
        return .failure(gap)
    }

    /// Returns a new result, which the first request fetches for all.
    private func fetched(
        _ evaluated: EvaluatedRequest, _ key: CacheKey, after lookup: CacheLookup, by end: ContinuousClock.Instant
    ) async throws(GatewayError) -> Result<UsableResult, MissingAnswer> {
        let client = evaluated.request.client, known = lookup.result
        // A client with a cached answer pays nothing, and keeps it.
        let isLimited = known?.answer == nil
        let hasPaid = isLimited ? try await unknownIDs.admit(client) : false
        let found = await fetcher.value(for: key, evaluated, since: known, by: end)
        if !found.isFirst { observe(.joinedFlight) }
        if found.isFirst, client.unknownIDs != nil, case .unknownTransaction = found.value?.result {
            observe(.unknownTransaction)
        }
        if isLimited, found.isFirst || hasPaid {
            try await unknownIDs.settle(client, hasPaid: hasPaid, found.value?.result)
        }
        let reason: CacheStatus.Reason =
            known.map { $0.isFresh(at: evaluated.now, maximumAge: nil) ? .request : .stale } ?? .miss
        if let result = found.value, evaluated.failure(in: result.result) == nil {
            let status = CacheStatus.forwarded(reason, found: result, isCollapsed: !found.isFirst)
            return .success(UsableResult(result, .miss, status, lookup.version))
        }
        var gap = MissingAnswer(found.value.flatMap { evaluated.failure(in: $0.result) } ?? .upstreamSlow)
        (gap.known, gap.status) = (known, found.value?.status)
        gap.cacheStatus = .forwarded(reason, isCollapsed: !found.isFirst)
        return .failure(gap)
    }

    private func waitLimit(for evaluated: EvaluatedRequest) -> Duration {
        // Slightly longer than the deadline, so that the reason for a failure arrives.
        let longest = connection.timeouts.deadline + .seconds(1), options = evaluated.request.options
        return options.waitLimit.map { min($0, longest) }
            ?? (options.mode == .apple ? longest : min(connection.timeouts.softTimeout, connection.timeouts.deadline))
    }
}

// MARK: - Answers

extension UpstreamVerification {
    private func answer(_ evaluated: EvaluatedRequest, _ found: UsableResult) -> Answer {
        for reason in found.reasons { observe(.degraded(reason)) }
        let made = evaluated.answer(
            found.result, from: found.cache, found.cacheStatus, degradedBecause: found.reasons)
        return versioned(made ?? evaluated.withoutUpstream(.upstreamDidNotAnswer), of: found, evaluated)
    }

    /// Returns the answer with a version that ends when a result behind it changes or is purged.
    private func versioned(_ answer: Answer, of found: UsableResult, _ evaluated: EvaluatedRequest) -> Answer {
        let ids = evaluated.transactionIDs
        // Watched before the comparison: a purge between the two puts the version out of date.
        let watching = found.version.watching(
            Array(found.parts.reduce(into: Set(ids)) { $0.formUnion($1.transactionIDs) }))
        let isCurrent = found.parts.allSatisfy {
            cache.purges.decision(for: $0, naming: ids, in: evaluated.subject.bundleID) == .current
        }
        return answer.replacing(version: isCurrent ? watching : watching.outOfDate)
    }

    /// Returns the best answer without Apple: the newest stale result, else the evidence, if the client accepts that.
    private func degraded(_ evaluated: EvaluatedRequest, _ gaps: [MissingAnswer]) -> Answer {
        let reasons = gaps.flatMap(\.reasons).withoutRepetition
        guard !reasons.isEmpty else { return evaluated.withoutUpstream(.notCached) }
        for reason in reasons { observe(.degraded(reason)) }
        let answer =
            staleAnswer(evaluated, gaps, reasons)
            ?? evaluated.withoutUpstream(.upstreamDidNotAnswer, degradedBecause: reasons)
        var provenance = answer.provenance
        provenance.upstreamStatus = gaps.lazy.compactMap(\.status).first
        return answer.replacing(provenance: provenance, cacheStatus: gaps.first?.cacheStatus)
    }

    private func staleAnswer(
        _ evaluated: EvaluatedRequest, _ gaps: [MissingAnswer], _ reasons: [DegradedReason]
    ) -> Answer? {
        let usable = gaps.compactMap { gap in gap.known.map { (gap: gap, known: $0) } }.filter {
            $0.gap.isUsable || policy.answersWithoutUpstream($0.known, about: evaluated.subject, at: evaluated.now)
        }
        // An older answer about all customers contains more than a new answer about some.
        let complete = usable.filter(\.gap.isComplete)
        let newest = (complete.isEmpty ? usable : complete).max { $0.known.fetchedAt < $1.known.fetchedAt }
        guard let (gap, known) = newest else { return nil }
        return evaluated.answered(by: gap.api).answer(known, from: .stale, nil, degradedBecause: reasons)
    }

    /// Returns Apple's JSON of an earlier answer to this receipt, of any age and with any transactions left out.
    private func earlierBody(about evaluated: EvaluatedRequest, _ gaps: [MissingAnswer]) async -> [UInt8]? {
        if let body = gaps.lazy.compactMap({ $0.known?.upstreamBody }).first { return body }
        var other = verifyReceiptKey(evaluated)
        other.excludesOldTransactions.toggle()
        return await cache.lookUp(other, naming: evaluated.transactionIDs).result?.upstreamBody
    }
}
