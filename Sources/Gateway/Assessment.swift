// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import SignedPayloads

/// The subject of a request at one moment, and the answers that can be given about it.
struct Assessment: Sendable {
    let subject: VerificationSubject
    let request: VerificationRequest
    let now: Timestamp
    /// The interface that Apple answers by.
    var api = UpstreamAPI.verifyReceipt
    private let policy: FreshnessPolicy
    private let skew: Duration
    private let transactions: [Transaction]
    private let renewals: [Renewal]
    private let subscriptions: [Subscription]

    /// - Parameter skew: the time by which Apple's clock may be ahead of ours.
    init(
        _ subject: VerificationSubject, for request: VerificationRequest, at now: Timestamp, policy: FreshnessPolicy,
        skew: Duration
    ) {
        self.subject = subject
        self.request = request
        self.now = now
        self.policy = policy
        self.skew = skew
        transactions = subject.evidence?.transactions ?? []
        renewals = subject.evidence?.renewals ?? []
        subscriptions = Subscription.all(in: transactions, renewals: renewals, at: now, skew: skew)
    }

    /// The bytes in memory beside the bytes that were sent, which it shares.
    var byteCount: Int {
        max(0, (subject.evidence?.byteCount ?? 0) - request.subject.byteCount) + transactions.byteCount
    }
}

// MARK: - Need for Apple

extension Assessment {
    /// True if Apple may know something newer than the evidence. Evidence is an answer from the time of its signature:
    /// it holds as long as a cached answer of that age.
    var mayHaveChanged: Bool {
        guard case .signed(let evidence) = subject else { return true }
        guard !transactions.isEmpty else { return false }
        guard let signingTime = evidence.signingTime else { return true }
        if let maximumAge = request.options.maximumAge, signingTime.advanced(by: maximumAge) < now { return true }
        let span = policy.span(of: subscriptions, in: subject.environment, at: now)
        let boundary = nextBoundary(after: signingTime, in: transactions, renewals)
        let end = signingTime.advanced(by: span)
        return now >= min(end, boundary ?? end)
    }

    /// Returns true for a result of the Server API from before the evidence was signed that says something else: Apple
    /// knows more by now. A signature that is ahead of this node's clock counts as one of now.
    func isNewer(than known: CachedResult) -> Bool {
        guard api == .serverAPI, let signed = subject.evidence?.newestSigningTime,
            known.calledAt < min(signed, now)
        else { return false }
        return known.answer.map { NewestSigned($0).differs(from: transactions) } ?? !transactions.isEmpty
    }

    /// True if the answer has a `latest_receipt`: always in Apple's form, else on request, if there are subscriptions.
    var showsLatestReceipt: Bool {
        (request.options.mode == .appleFirst || request.options.wantsLatestReceipt) && !subscriptions.isEmpty
    }

    /// True if the evidence alone shows that every subscription is paid for.
    var isFullyPaid: Bool { subject.evidence != nil && subscriptions.allSatisfy { $0.state == .active } }

    var upstreamRequest: UpstreamRequest {
        UpstreamRequest(
            subject: subject, sentSecret: request.options.sentSecret,
            options: UpstreamOptions(excludesOldTransactions: request.options.excludesOldTransactions))
    }

    /// The ID for calls of the App Store Server API; nil if the evidence has none.
    var transactionID: String? {
        switch subject {
        case .signed(let evidence): transactions.newest?.chainID ?? evidence.appTransaction?.appTransactionID
        case .lookup(_, let transactionID): transactionID
        }
    }

    /// The IDs that a purge of the evidence's results may name.
    var transactionIDs: [String] {
        let ids = transactions.isEmpty ? [transactionID].compactMap(\.self) : transactions.flatMap(\.ids)
        return Array(Set(ids))
    }

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
    func freshUntil(_ result: UpstreamResult, at now: Timestamp) -> Timestamp {
        switch result {
        case .answered(let answer):
            let subscriptions = Subscription.all(
                in: answer.transactions, renewals: answer.renewals, at: now, skew: skew)
            let environment = subject.environment ?? answer.environment
            let isComplete = completed(answer, calledAt: now).transactions.count == answer.transactions.count
            let span = policy.span(of: subscriptions, in: environment, at: now)
            let end = now.advanced(by: isComplete ? span : min(span, policy.incomplete))
            // Apple may have answered before a boundary that has passed meanwhile: such an answer must not be repeated.
            let boundary = nextBoundary(after: self.now, in: answer.transactions, answer.renewals)
            return earliest(end, boundary, after: now)
        case .accountNotFound: return now.advanced(by: policy.accountNotFound)
        case .unknownTransaction(.notFound): return now.advanced(by: policy.transactionNotFound)
        case .unknownTransaction(.idInvalid): return now.advanced(by: policy.transactionIDInvalid)
        case .alias: return now.advanced(by: policy.alias)
        case .unanswered(.upstreamDisagrees): return now.advanced(by: policy.disagreement)
        case .unanswered: return now
        }
    }

    /// Returns the time until which a result is of use.
    func retentionEnd(of known: CachedResult) -> Timestamp { known.fetchedAt.advanced(by: policy.retention(of: known)) }

    /// Returns the earliest of these times and the end of the app's volume licence, if it has one.
    private func earliest(_ end: Timestamp, _ boundary: Timestamp?, after now: Timestamp) -> Timestamp {
        let expiration = expirationDate.flatMap { $0 > now ? $0 : nil }
        return [boundary, expiration].compactMap(\.self).reduce(end) { min($0, $1) }
    }

    private var isAppExpired: Bool? { expirationDate.map { $0 <= now } }

    private var expirationDate: Timestamp? { subject.evidence?.receipt?.expirationDate }
}

// MARK: - Answers

extension Assessment {
    /// Returns the answer made of the evidence alone.
    /// - Parameter reasons: the reasons why Apple did not answer; empty if it was not needed.
    func local(degradedBecause reasons: [DegradedReason] = []) -> Answer {
        let boundary = nextBoundary(after: now, in: transactions, renewals)
        let end = earliest(now.advanced(by: policy.near), boundary, after: now)
        return Answer(
            verdict: .genuine, subject: subject, transactions: shown(transactions), subscriptions: subscriptions,
            provenance: Provenance(source: .local, cache: .miss, verifiedAt: now, degradedReasons: reasons),
            freshUntil: reasons.isEmpty ? end : now, upstreamBody: nil, isAppExpired: isAppExpired)
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
            let (transactions, renewals) = (newest.transactions, newest.renewals)
            // The states below are those at the request: one that ended before Apple answered must not be repeated.
            let boundary = nextBoundary(after: now, in: transactions, renewals)
            let end = cache == .stale ? now : earliest(known.freshUntil, boundary, after: now)
            return Answer(
                verdict: .genuine, subject: subject, transactions: shown(transactions),
                subscriptions: Subscription.all(in: transactions, renewals: renewals, at: now, skew: skew),
                provenance: provenance, freshUntil: min(end, now.advanced(by: policy.near)),
                upstreamBody: known.upstreamBody, upstreamEnvironment: answer.environment, isAppExpired: isAppExpired,
                cacheStatus: cacheStatus)
        // Not for the near cache, which could not check whose app they are about.
        case .accountNotFound: return rejected(.accountNotFound, provenance, cacheStatus)
        case .unknownTransaction(let reason): return rejected(.unknownTransaction(reason), provenance, cacheStatus)
        case .alias, .unanswered: return nil
        }
    }

    /// Returns what Apple's answer and the evidence say together. Of several states of a transaction or a plan, the one
    /// that was signed last counts: evidence may be newer than a cached answer. A purchase may also be newer than the
    /// index behind a new answer.
    private func completed(_ answer: UpstreamAnswer, calledAt: Timestamp) -> NewestSigned {
        var newest = NewestSigned(answer)
        guard api == .serverAPI else { return newest }
        newest.complete(
            with: transactions, renewals, signedAt: subject.evidence?.signingTime,
            indexed: calledAt.advanced(by: .zero - policy.indexDelay))
        return newest
    }

    private func rejected(_ rejection: Rejection, _ provenance: Provenance, _ cacheStatus: CacheStatus?) -> Answer {
        var answer = Answer(.rejected(rejection), provenance, freshUntil: now)
        answer.cacheStatus = cacheStatus
        return answer
    }

    /// Returns the answer without Apple: made of the evidence if the mode allows it, else undecided.
    /// - Parameter reason: the reason why Apple did not answer, for an undecided answer.
    func withoutUpstream(_ reason: UndecidedReason, degradedBecause reasons: [DegradedReason] = []) -> Answer {
        guard request.options.mode == .apple || subject.evidence == nil else { return local(degradedBecause: reasons) }
        return Answer(
            .undecided(reason),
            Provenance(source: .local, cache: .miss, verifiedAt: now, degradedReasons: reasons), freshUntil: now)
    }

    private func shown(_ transactions: [Transaction]) -> [Transaction] {
        request.options.excludesOldTransactions ? transactions.withoutOldTransactions() : transactions
    }
}
