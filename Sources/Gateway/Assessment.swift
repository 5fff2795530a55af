// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The subject of a request at one moment, and the answers that can be given about it.
struct Assessment: Sendable {
    let subject: VerificationSubject
    let request: VerificationRequest
    let now: Timestamp
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
        max(0, (subject.evidence?.byteCount ?? 0) - request.evidence.byteCount) + transactions.byteCount
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

    var originalTransactionIDs: [String] { Array(Set(transactions.map(\.chainID))) }

    /// Returns the time until which a result of Apple may be repeated.
    /// - Parameter now: the time of Apple's answer, which is later than the request.
    func freshUntil(_ result: UpstreamResult, at now: Timestamp) -> Timestamp {
        switch result {
        case .answered(let answer):
            let subscriptions = Subscription.all(
                in: answer.transactions, renewals: answer.renewals, at: now, skew: skew)
            let environment = subject.environment ?? answer.environment
            let end = now.advanced(by: policy.span(of: subscriptions, in: environment, at: now))
            // Apple may have answered before a boundary that has passed meanwhile: such an answer must not be repeated.
            let boundary = nextBoundary(after: self.now, in: answer.transactions, answer.renewals)
            return earliest(end, boundary, after: now)
        case .accountNotFound: return now.advanced(by: policy.accountNotFound)
        case .unanswered(.upstreamDisagrees): return now.advanced(by: policy.disagreement)
        case .unanswered: return now
        }
    }

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
            source: .apple, cache: cache, verifiedAt: known.fetchedAt, degradedReasons: reasons,
            upstreamStatus: known.status)
        switch known.result {
        case .answered(let answer):
            // The states below are those at the request: one that ended before Apple answered must not be repeated.
            let boundary = nextBoundary(after: now, in: answer.transactions, answer.renewals)
            let end = cache == .stale ? now : earliest(known.freshUntil, boundary, after: now)
            return Answer(
                verdict: .genuine, subject: subject, transactions: shown(answer.transactions),
                subscriptions: Subscription.all(
                    in: answer.transactions, renewals: answer.renewals, at: now, skew: skew),
                provenance: provenance, freshUntil: min(end, now.advanced(by: policy.near)),
                upstreamBody: answer.body, upstreamEnvironment: answer.environment, isAppExpired: isAppExpired,
                cacheStatus: cacheStatus)
        case .accountNotFound:
            // Not for the near cache, which could not check whose app it is about.
            var answer = Answer(.rejected(.accountNotFound), provenance, freshUntil: now)
            answer.cacheStatus = cacheStatus
            return answer
        case .unanswered: return nil
        }
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
