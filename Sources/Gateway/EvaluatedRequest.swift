// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The subject of a request at one moment, and the answers that can be given about it. An object, because it is handed on
/// many times and never changes.
final class EvaluatedRequest: Sendable {
    let subject: VerificationSubject
    let request: VerificationRequest
    let now: Timestamp
    /// The verifier of the evidence, which also verifies Apple's answer.
    let verifier: LocalVerifier
    /// The interface that Apple answers by.
    let api: UpstreamAPI
    let rules: EvaluationRules
    /// The purchases in the evidence and in notifications.
    private let entitlements: Entitlements
    /// The time up to which notifications have reported the state of all chains; nil if they have not.
    private let notifiedUntil: Timestamp?
    /// True if notifications have added something to the evidence.
    private let isNotified: Bool
    /// True if what notifications may have reported cannot be read now.
    let lacksStates: Bool

    /// - Parameter states: the states that notifications have left of the evidence's chains.
    init(
        _ subject: VerificationSubject, _ states: [CustomerState] = [], for request: VerificationRequest,
        at now: Timestamp, by verifier: LocalVerifier, rules: EvaluationRules
    ) {
        (self.subject, self.request, self.now, self.rules) = (subject, request, now, rules)
        self.verifier = verifier
        (api, lacksStates) = (.verifyReceipt, false)
        let newest = EvidenceWithNotifications(subject.evidence, states)
        (notifiedUntil, isNotified) = (newest.knownUntil, newest.isNotified)
        entitlements = Entitlements(
            in: newest.transactions, renewals: newest.renewals, at: now,
            rules: rules.states(knownAt: subject.evidence?.signingTime, of: subject))
    }

    init(
        copying other: EvaluatedRequest, request: VerificationRequest? = nil, api: UpstreamAPI? = nil,
        entitlements: Entitlements? = nil, lacksStates: Bool? = nil
    ) {
        (subject, self.request, now, rules) = (other.subject, request ?? other.request, other.now, other.rules)
        verifier = other.verifier
        (notifiedUntil, isNotified) = (other.notifiedUntil, other.isNotified)
        self.api = api ?? other.api
        self.entitlements = entitlements ?? other.entitlements
        self.lacksStates = lacksStates ?? other.lacksStates
    }

    private var policy: FreshnessPolicy { rules.freshness }
    private var transactions: TransactionList { entitlements.transactions }
    private var renewals: [Renewal] { entitlements.renewals }
    private var subscriptions: [Subscription] { entitlements.subscriptions }

    /// Returns the same subject together with what notifications have reported about it.
    func adding(_ states: [CustomerState]) -> EvaluatedRequest {
        EvaluatedRequest(subject, states, for: request, at: now, by: verifier, rules: rules).answered(by: api)
    }

    /// Returns the same subject, about which another interface answers.
    func answered(by api: UpstreamAPI) -> EvaluatedRequest { EvaluatedRequest(copying: self, api: api) }

    /// The same subject; what notifications may have reported about it cannot be read now.
    var lackingStates: EvaluatedRequest { EvaluatedRequest(copying: self, lacksStates: true) }

    /// The same subject with its transactions as values: Apple's answers are compared with them.
    var holdingValues: EvaluatedRequest { EvaluatedRequest(copying: self, entitlements: entitlements.holdingValues) }

    /// The bytes in memory beside the bytes that were sent, which it shares.
    var byteCount: Int {
        max(0, (subject.evidence?.byteCount ?? 0) - request.subject.byteCount) + entitlements.byteCount
    }
}

// MARK: - Need for Apple

extension EvaluatedRequest {
    /// True if Apple may know something newer than the evidence, or more than the evidence and the client wants it. Evidence is
    /// an answer from the time of its signature: it holds as long as a cached answer of that age.
    var mayHaveChanged: Bool {
        guard case .signed(let evidence) = subject else { return true }
        guard !transactions.isEmpty else { return false }
        if request.options.wantsHistory { return true }
        let hasEnded = subscriptions.contains { ![.active, .inGracePeriod].contains($0.state) }
        if request.options.wantsPresentState, hasEnded { return true }
        // Only Apple knows the end of a period without a date.
        guard !lacksStates, subscriptions.allSatisfy({ $0.expiresDate != nil }) else { return true }
        guard let signingTime = notifiedUntil ?? evidence.signingTime else { return true }
        if let maximumAge = request.options.maximumAge, signingTime.advanced(by: maximumAge) < now { return true }
        let span = policy.span(of: subscriptions, in: subject.environment, at: now)
        let boundary = entitlements.facts.nextBoundary(after: signingTime)
        let end = signingTime.advanced(by: span)
        return now >= min(end, boundary ?? end)
    }

    /// Returns true for a result from before the evidence was signed that says something else: Apple knows more by now.
    /// A signature that is ahead of this node's clock counts as made now.
    private func isNewer(than known: CachedResult) -> Bool {
        guard let signed = newestSigningTime, known.calledAt < min(signed, now) else { return false }
        guard let answer = known.answer else { return !transactions.isEmpty }
        // The chains of another customer have another result.
        let chains = chains(Set(transactions.map(\.chainID)), in: answer, naming: known.transactionIDs)
        return CompletedAnswer(answer).differs(from: transactions.filter { chains.contains($0.chainID) })
    }

    /// The time after which the evidence was signed, by the clocks of Apple and of this node.
    var signedAfter: Timestamp {
        (subject.evidence?.signingTime ?? Timestamp(millisecondsSince1970: 0)).advanced(by: .zero - rules.clockSkew)
    }

    private var newestSigningTime: Timestamp? {
        let notified = isNotified ? transactions.compactMap(\.signedDate).max() : nil
        return [subject.evidence?.newestSigningTime, notified].compactMap(\.self).max()
    }

    /// The chains of the evidence whose state notifications may have reported, consumables last, else the newest first;
    /// empty without a signed app and environment.
    var notifiableChains: [PurchaseChain] {
        guard let evidence = subject.evidence, let bundleID = evidence.bundleID, let environment = evidence.environment,
            environment.isApples
        else { return [] }
        return entitlements.facts.lastingChainsFirst.map { id in
            PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: id)
        }
    }

    /// Returns true for a result of the Server API that does not suffice: the evidence is newer, or it is unknown which
    /// consumables are unfinished.
    func needsMore(than known: CachedResult) -> Bool {
        guard api == .serverAPI else { return false }
        return isNewer(than: known) || (hasAppleForm && known.answer?.lacksUnfinishedConsumables == true)
    }

    /// True if the answer has the form of `verifyReceipt`.
    var hasAppleForm: Bool { request.options.mode == .appleFirst }

    /// True if the answer has a `latest_receipt`: always in Apple's form, else on request, if there are subscriptions.
    var showsLatestReceipt: Bool {
        (hasAppleForm || request.options.wantsLatestReceipt) && !subscriptions.isEmpty
    }

    /// True if the evidence alone shows that every subscription is paid for.
    var isFullyPaid: Bool { subject.evidence != nil && subscriptions.allSatisfy(\.isPaid) }

    var upstreamRequest: UpstreamRequest {
        UpstreamRequest(
            subject: subject, sentSecret: request.options.sentSecret,
            excludesOldTransactions: request.options.excludesOldTransactions)
    }

    /// The IDs for calls of the App Store Server API: the chain IDs in the evidence, the newest first. One ID suffices
    /// for each customer. Empty if the evidence has no IDs.
    var lookupIDs: [String] {
        switch subject {
        case .signed(let evidence) where transactions.isEmpty:
            [evidence.appTransaction?.appTransactionID].compactMap(\.self)
        case .signed: entitlements.facts.chainsByAge
        case .lookup(_, let transactionID): [transactionID]
        }
    }

    /// The facts that tie a history to the evidence about this chain; nil without evidence.
    func ties(to chain: String) -> PurchaseTies? {
        subject.evidence == nil ? nil : PurchaseTies(transactions.filter { $0.chainID == chain })
    }

    /// The operator's roots under which Apple's answers in this environment are verified. A JWS of 2021 names none: its
    /// root must be trusted for production.
    func trustedRoots(in environment: Environment) -> Set<OperatorsRoot> {
        verifier.receipts.trustStore.operatorsRoots.filter {
            $0.environment == environment || $0.environment == .production
        }
    }

    /// Returns false for a result that was verified while a root was trusted that this request does not trust.
    func trusts(_ known: CachedResult) -> Bool {
        known.roots.isEmpty || known.roots.isSubset(of: verifier.receipts.trustStore.operatorsRoots)
    }

    /// Returns false for an answer that another request's evidence tied to this ID: without evidence it must have the ID.
    /// An answer under another key was reached by the names that Apple gave.
    func mayUse(_ known: CachedResult, under key: CacheKey) -> Bool {
        guard case .lookup(_, let id) = subject, key.transactionID == id, let answer = known.answer else { return true }
        return answer.transactions.isEmpty || known.transactionIDs.contains(id)
    }

    /// Returns the chains, among these, that have transactions in an answer, under any name.
    /// - Parameter ids: the IDs in the answer.
    func chains(_ chains: Set<String>, in answer: UpstreamAnswer, naming ids: Set<String>) -> Set<String> {
        let others = chains.subtracting(ids)
        guard !others.isEmpty else { return chains }
        let known = NamedChains(of: answer.transactions, and: transactions.values, answer.renewals + renewals)
        return chains.subtracting(others.filter { !known.contains($0) })
    }

    /// Returns true for a chain of the evidence that an answer does not have, under any name.
    func isMissing(_ chain: String, in known: CachedResult) -> Bool {
        guard let answer = known.answer, transactions.contains(where: { $0.chainID == chain }) else { return false }
        return chains([chain], in: answer, naming: known.transactionIDs).isEmpty
    }

    /// The IDs in the evidence that a purge of a key's results may name: for the Server API the customer's IDs.
    func transactionIDs(of key: CacheKey) -> [String] {
        guard let id = key.transactionID else { return transactionIDs }
        return Array(transactions.filter { $0.isNamed(id) }.ids.union([id]))
    }

    /// The IDs that a purge of the evidence's results may name.
    var transactionIDs: [String] { transactions.isEmpty ? lookupIDs : Array(transactions.values.ids) }

    /// The reason why a result of Apple gives no answer about the subject; nil if it does.
    func failure(in result: UpstreamResult) -> DegradedReason? {
        switch result {
        case .unanswered(let reason): reason
        // Apple signed the evidence.
        case .unknownTransaction where subject.evidence != nil: .transactionUnknown
        case .answered, .accountNotFound, .unknownTransaction, .alias: nil
        }
    }

    /// Returns the time until which a result of Apple may be repeated.
    /// - Parameter now: the time of Apple's answer, which is later than the request.
    /// - Parameter id: the ID that was looked up; nil for `verifyReceipt`.
    func freshUntil(_ result: UpstreamResult, about id: String? = nil, at now: Timestamp) -> Timestamp {
        switch result {
        case .answered(let answer):
            let entitlements = entitlements(answer.transactions, answer.renewals, calledAt: now, at: now)
            let environment = subject.environment ?? answer.environment
            let isComplete =
                !answer.isPartial && !answer.lacksItems
                && completed(answer, calledAt: now).transactions.count == answer.transactions.count
            let span = policy.span(of: entitlements.subscriptions, in: environment, at: now)
            let end = now.advanced(by: isComplete ? span : min(span, policy.incomplete))
            // Apple may have answered before a boundary that has passed meanwhile: such an answer must not be repeated.
            let boundary = entitlements.facts.nextBoundary(after: self.now)
            return earliest(end, boundary, entitlements.subscriptions, after: now)
        case .accountNotFound: return now.advanced(by: policy.accountNotFound)
        case .unknownTransaction(.notFound):
            // Apple signed it, and its index is late by minutes at most.
            // Without a signed environment an ID without evidence has the same result.
            let isLasting = id.map { subject.environment != nil && !recentChains.contains($0) } ?? false
            return now.advanced(by: isLasting ? policy.indexDelay : policy.transactionNotFound)
        case .unknownTransaction(.idInvalid): return now.advanced(by: policy.transactionIDInvalid)
        case .alias: return now.advanced(by: policy.alias)
        case .unanswered(let reason):
            return reason.facts.isOfEvidence ? now.advanced(by: policy.unanswered(reason)) : now
        }
    }

    /// Returns the time until which a result is of use.
    func retentionEnd(of known: CachedResult) -> Timestamp { known.fetchedAt.advanced(by: policy.retention(of: known)) }

    /// Returns the earliest of these times, the ends of access, and the end of the app's volume licence, if any.
    private func earliest(
        _ end: Timestamp, _ boundary: Timestamp?, _ subscriptions: [Subscription], after now: Timestamp
    ) -> Timestamp {
        var earliest = min(end, boundary ?? end)
        func consider(_ date: Timestamp?) {
            if let date, date > now { earliest = min(earliest, date) }
        }
        for subscription in subscriptions { consider(subscription.accessUntil) }
        consider(subject.evidence?.licenceEnd)
        return earliest
    }

    /// Returns what an answer of Apple entitles the customer to.
    private func entitlements(
        _ transactions: [Transaction], _ renewals: [Renewal], calledAt: Timestamp, at now: Timestamp
    ) -> Entitlements {
        // Answers of the Server API sign each item; what has no time there is from the evidence.
        let states = rules.states(knownAt: api == .serverAPI ? subject.evidence?.signingTime : calledAt, of: subject)
        return Entitlements(in: TransactionList(transactions), renewals: renewals, at: now, rules: states)
    }

    private var isAppExpired: Bool? { subject.evidence?.licenceEnd.map { $0 <= now } }
}

// MARK: - Answers

extension EvaluatedRequest {
    /// Returns the answer made of the evidence alone.
    /// - Parameter reasons: the reasons why Apple did not answer; empty if it was not needed.
    func local(degradedBecause reasons: [DegradedReason] = []) -> Answer {
        let boundary = entitlements.facts.nextBoundary(after: now)
        let end = earliest(now.advanced(by: policy.near), boundary, subscriptions, after: now)
        let notifiedAt = isNotified ? newestSigningTime : nil
        return Answer(
            verdict: .genuine, subject: subject,
            entitlements: entitlements.revokingCopies(knownAt: subject.evidence?.signingTime),
            provenance: Provenance(
                source: isNotified ? .notification : .local, cache: .miss, verifiedAt: min(notifiedAt ?? now, now),
                degradedReasons: reasons),
            freshUntil: reasons.isEmpty ? end : now, isAppExpired: isAppExpired)
    }

    /// Returns the answer made of a result of Apple; nil if Apple did not answer.
    func answer(
        _ known: CachedResult, from cache: Provenance.Cache, _ cacheStatus: CacheStatus?,
        degradedBecause reasons: [DegradedReason] = []
    ) -> Answer? {
        let provenance = Provenance(
            source: api.source, cache: cache, verifiedAt: known.fetchedAt, degradedReasons: reasons,
            upstreamStatus: known.status)
        switch known.result {
        case .answered(let answer):
            let newest = completed(answer, calledAt: known.calledAt)
            // The states below are from the time of the request. A state that ended before Apple answered must not be
            // repeated.
            let entitlements = entitlements(newest.transactions, newest.renewals, calledAt: known.calledAt, at: now)
            let boundary = entitlements.facts.nextBoundary(after: now)
            let end =
                cache == .stale
                ? now : earliest(known.freshUntil, boundary, entitlements.subscriptions, after: now)
            let knowsUnfinished = if case .known = answer.unfinishedConsumables { true } else { false }
            return Answer(
                verdict: .genuine, subject: subject,
                entitlements: listed(entitlements.revokingCopies(knownAt: known.calledAt), of: answer),
                provenance: provenance, freshUntil: min(end, now.advanced(by: policy.near)),
                upstreamBody: known.upstreamBody,
                mayLackConsumables: hasAppleForm && api == .serverAPI && !knowsUnfinished
                    && newest.transactions.contains(where: \.isConsumable),
                upstreamEnvironment: answer.environment, isAppExpired: isAppExpired,
                cacheStatus: cacheStatus)
        // Not for the near cache, which could not check whose app they are about.
        case .accountNotFound: return rejected(.accountNotFound, provenance, cacheStatus)
        case .unknownTransaction(let reason): return rejected(.unknownTransaction(reason), provenance, cacheStatus)
        case .alias, .unanswered: return nil
        }
    }

    /// Returns what Apple's answer and the evidence say together. Of several states of a transaction or a plan, the
    /// state that was signed last counts: evidence may be newer than a cached answer. A purchase may also be newer than
    /// the index behind a new answer.
    private func completed(_ answer: UpstreamAnswer, calledAt: Timestamp) -> CompletedAnswer {
        var newest = CompletedAnswer(answer)
        guard api == .serverAPI || answer.lacksItems else { return newest }
        newest.complete(
            with: transactions.values, renewals, signedAt: subject.evidence?.signingTime,
            indexed: answer.lacksItems ? .earliest : calledAt.advanced(by: .zero - policy.indexDelay),
            isOneCustomer: api == .verifyReceipt)
        return newest
    }

    private func rejected(_ rejection: Rejection, _ provenance: Provenance, _ cacheStatus: CacheStatus?) -> Answer {
        Answer(verdict: .rejected(rejection), provenance: provenance, freshUntil: now, cacheStatus: cacheStatus)
    }

    /// Returns the answer without Apple: made of the evidence if the mode allows it, else undecided.
    /// - Parameter reason: the reason why Apple did not answer, for an undecided answer.
    func withoutUpstream(_ reason: UndecidedReason, degradedBecause reasons: [DegradedReason] = []) -> Answer {
        guard request.options.mode == .apple || subject.evidence == nil else { return local(degradedBecause: reasons) }
        return Answer(
            verdict: .undecided(reason),
            provenance: Provenance(source: .local, cache: .miss, verifiedAt: now, degradedReasons: reasons),
            freshUntil: now)
    }

    /// Returns a result of the Server API together with what only the evidence says: the transactions of chains that Apple
    /// did not answer about. Such a result is fresh for a short time.
    /// - Parameter refused: the chains of accounts that do not exist.
    func completing(_ known: CachedResult, without refused: Set<String>) -> CachedResult {
        guard var answer = known.answer else { return known }
        let named = refused.union(known.transactionIDs), open = Set(lookupIDs).subtracting(named)
        let chains = open.subtracting(self.chains(open, in: answer, naming: named))
        let missing = transactions.filter { chains.contains($0.chainID) }
        guard !missing.isEmpty else { return known }
        if case .known(let ids) = answer.unfinishedConsumables {
            answer.unfinishedConsumables = .known(ids.union(missing.filter(\.isConsumable).map(\.transactionID)))
        }
        answer.transactions += missing
        answer.renewals += renewals.filter { chains.contains($0.originalTransactionID) }
        return known.replacing(with: answer, until: now.advanced(by: policy.incomplete))
    }

    /// The chains that may be newer than Apple's index.
    var recentChains: Set<String> {
        let dated = transactions.compactMap { purchase in purchase.purchaseDate.map { (purchase.chainID, $0) } }
        return Set(Dictionary(dated, uniquingKeysWith: min).filter { now < $0.1.advanced(by: policy.indexDelay) }.keys)
    }

    /// Returns the entitlements with the transactions that `verifyReceipt` would list if the answer has its form: all but
    /// finished consumables. If Apple does not report finished consumables, the evidence shows the unfinished
    /// consumables at its time.
    private func listed(_ entitlements: Entitlements, of answer: UpstreamAnswer) -> Entitlements {
        guard hasAppleForm, api == .serverAPI else { return entitlements }
        let unfinished: Set<String> =
            if case .known(let ids) = answer.unfinishedConsumables { ids } else {
                Set(self.transactions.map(\.transactionID))
            }
        let answered = Set(answer.transactions.map(\.transactionID))
        return entitlements.listing { transaction in
            let id = transaction.transactionID
            return !transaction.isConsumable || unfinished.contains(id) || !answered.contains(id)
        }
    }
}
