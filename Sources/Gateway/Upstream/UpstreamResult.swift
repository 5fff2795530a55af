// SPDX-License-Identifier: Apache-2.0

package import Receipts
package import Resilience

/// The outcome of a request to Apple about a genuine receipt.
package enum UpstreamResult: Sendable {
    case answered(UpstreamAnswer)
    /// The customer's account does not exist, or no longer does.
    case accountNotFound
    /// Apple knows no such transaction.
    case unknownTransaction(UnknownTransaction)
    /// The transaction belongs to another transaction, under whose key the answer is kept.
    case alias(TransactionAlias)
    /// No answer, with the reason.
    case unanswered(DegradedReason)
}

/// The reasons why Apple knows no transaction of an ID. The raw values appear in the API.
package enum UnknownTransaction: String, CaseIterable, Hashable, Sendable {
    /// 4040005, 4040010, 4040019 in each environment: a new transaction may follow within seconds.
    case notFound = "transaction_not_found"
    /// 4000006: no transaction has such an ID.
    case idInvalid = "transaction_id_invalid"
}

/// The original transaction, the environment and the app of a transaction, from a verified answer.
package struct TransactionAlias: Hashable, Sendable {
    package var originalTransactionID: String
    package var environment: Environment
    package var bundleID: String
}

/// A result of a request to Apple, with its times.
package struct CachedResult: Sendable {
    package let result: UpstreamResult
    /// The time of Apple's reply.
    package let fetchedAt: Timestamp
    /// The time until which the result is fresh. Subscription states are derived from its dates on each use, so that
    /// none lasts past its end.
    package let freshUntil: Timestamp
    package let took: Duration
    /// The position of the purges known before the request.
    package let purges: PurgePosition
    /// The operator's roots that were trusted when the signatures in it were verified. The result holds as long as all of
    /// them are trusted. Empty if it has no signatures, or only Apple's own roots were trusted.
    package let roots: Set<OperatorsRoot>
    package let status: Int?
    /// The IDs in Apple's answer that a purge may name.
    package let transactionIDs: Set<String>

    package init(
        _ result: UpstreamResult, status: Int? = nil, fetchedAt: Timestamp, freshUntil: Timestamp,
        took: Duration = .zero, purges: PurgePosition = .beginning, roots: Set<OperatorsRoot> = []
    ) {
        (self.result, self.status, self.fetchedAt) = (result, status, fetchedAt)
        (self.freshUntil, self.took, self.purges, self.roots) = (freshUntil, took, purges, roots)
        transactionIDs =
            switch result {
            case .answered(let answer): answer.transactions.ids
            case .alias(let alias): [alias.originalTransactionID]
            case .accountNotFound, .unknownTransaction, .unanswered: []
            }
    }

    /// The time of the request to Apple.
    var calledAt: Timestamp { fetchedAt.advanced(by: .zero - took) }

    var answer: UpstreamAnswer? { if case .answered(let answer) = result { answer } else { nil } }

    /// Apple's JSON; nil if there is none.
    var upstreamBody: [UInt8]? { answer.flatMap { $0.body.isEmpty ? nil : $0.body } }

    /// True if the result may be repeated at all.
    var isLasting: Bool { fetchedAt < freshUntil }

    func isFresh(at now: Timestamp, maximumAge: Duration?) -> Bool {
        now < freshUntil && fetchedAt.isWithin(maximumAge, at: now)
    }

    func isStale(within span: Duration, at now: Timestamp) -> Bool {
        // The transaction may be known by now.
        if case .unknownTransaction = result { return false }
        return now < freshUntil.advanced(by: span)
    }

    /// True if a period of a subscription ended or began since the request: then Apple may know of another.
    func hasPassedBoundary(at now: Timestamp) -> Bool {
        (answer?.nextBoundary(after: fetchedAt)).map { $0 <= now } ?? false
    }

    /// Returns the result in the time of another clock, which is ahead by `difference`. Periods are in Apple's time in
    /// either case, so the result is not fresh beyond the next end of a period.
    package func shifted(by difference: Duration) -> CachedResult {
        let fetchedAt = fetchedAt.advanced(by: difference), end = freshUntil.advanced(by: difference)
        return CachedResult(
            result, status: status, fetchedAt: fetchedAt,
            freshUntil: min(end, answer?.nextBoundary(after: fetchedAt) ?? end),
            took: took, purges: purges, roots: roots)
    }

    /// Returns the answer about two customers, with the dates of the older result and the earlier end.
    func joined(with other: CachedResult) -> CachedResult {
        guard var answer, let others = other.answer else { return self }
        answer.join(others)
        let older = fetchedAt < other.fetchedAt ? self : other
        return CachedResult(
            .answered(answer), fetchedAt: older.fetchedAt, freshUntil: min(freshUntil, other.freshUntil),
            took: older.took, purges: older.purges, roots: roots.union(other.roots))
    }

    /// Returns the result with another answer, which is fresh at most until `end`.
    func replacing(with answer: UpstreamAnswer, until end: Timestamp) -> CachedResult {
        CachedResult(
            .answered(answer), status: status, fetchedAt: fetchedAt, freshUntil: min(freshUntil, end), took: took,
            purges: purges, roots: roots)
    }

    /// Returns true if a fresh result should be refreshed early, so that no request waits later: XFetch (Vattani,
    /// Chierichetti, Lowenstein: Optimal Probabilistic Cache Stampede Prevention, 2015). A result that ends with a
    /// period is excluded: before that end, Apple's answer would not change.
    /// - Parameter randomness: minus the logarithm of a random number between 0 and 1.
    func isDue(at now: Timestamp, randomness: Double) -> Bool {
        guard freshUntil <= now.advanced(by: took * randomness), case .answered = result else { return false }
        return !hasPassedBoundary(at: freshUntil)
    }
}
