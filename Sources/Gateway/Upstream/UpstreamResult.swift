// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// What asking Apple about a genuine receipt brought to light.
public enum UpstreamResult: Sendable {
    /// What Apple knows.
    case answered(UpstreamAnswer)
    /// The customer's account does not exist, or no longer does.
    case accountNotFound
    /// Nothing, and why.
    case unanswered(DegradedReason)
}

/// A finding and its time.
public struct CachedResult: Sendable {
    /// What was found.
    public let result: UpstreamResult
    /// When Apple was asked.
    public let askedAt: Timestamp
    /// It holds until then. States are derived from its dates whenever it is used, so what follows from it is never a
    /// subscription that lasts past its end.
    public let freshUntil: Timestamp
    /// How long asking took.
    public let took: Duration
    /// The purges that were known before Apple was asked.
    public let purges: PurgePosition
    /// Apple's status code; nil if Apple gave none.
    public let status: Int?

    /// A finding.
    public init(
        _ result: UpstreamResult, status: Int? = nil, askedAt: Timestamp, freshUntil: Timestamp, took: Duration = .zero,
        purges: PurgePosition = .beginning
    ) {
        self.result = result
        self.status = status
        self.askedAt = askedAt
        self.freshUntil = freshUntil
        self.took = took
        self.purges = purges
    }

    /// The original transactions that Apple named. One with several transactions stands there several times.
    public var originalTransactionIDs: some Sequence<String> {
        let transactions: [Transaction] = if case .answered(let answer) = result { answer.transactions } else { [] }
        return transactions.lazy.map(\.chainID)
    }

    /// Apple's JSON; nil if Apple said nothing of the receipt's contents.
    var upstreamBody: [UInt8]? {
        if case .answered(let answer) = result { answer.body } else { nil }
    }

    /// Whether it may be repeated at all.
    var isLasting: Bool { askedAt < freshUntil }

    /// Whether it may be repeated at `now`, to a caller who accepts this age.
    func isFresh(at now: Timestamp, maximumAge: Duration?) -> Bool {
        now < freshUntil && askedAt.isAccepted(at: now, maximumAge: maximumAge)
    }

    /// Whether it is `span` or less past its time.
    func isStale(within span: Duration, at now: Timestamp) -> Bool {
        now < freshUntil.advanced(by: span) && askedAt.isAccepted(at: now, maximumAge: nil)
    }

    /// Whether Apple spoke of the receipt's contents, `span` or less after that holds. That an account is gone is not
    /// repeated past its time: it would turn a customer away for somebody's mistake.
    func answerHolds(for span: Duration, at now: Timestamp) -> Bool {
        guard case .answered = result else { return false }
        return isStale(within: span, at: now)
    }

    /// Whether a period of some subscription ended or began since Apple was asked: then Apple may know of another.
    func hasPassedBoundary(at now: Timestamp) -> Bool {
        nextBoundary.map { $0 <= now } ?? false
    }

    /// When the first period ends or begins after Apple was asked.
    private var nextBoundary: Timestamp? {
        guard case .answered(let answer) = result else { return nil }
        return Gateway.nextBoundary(after: askedAt, in: answer.transactions, answer.renewals)
    }

    /// The same finding in the time of another clock, which is ahead by `difference`. What Apple says about periods
    /// is in Apple's time, whoever's clock is wrong: it is not fresh beyond the next of their ends.
    public func moved(by difference: Duration) -> CachedResult {
        let end = freshUntil.advanced(by: difference)
        let moved = CachedResult(
            result, status: status, askedAt: askedAt.advanced(by: difference), freshUntil: end, took: took,
            purges: purges)
        return CachedResult(
            result, status: status, askedAt: moved.askedAt, freshUntil: min(end, moved.nextBoundary ?? end),
            took: took,
            purges: purges)
    }

    /// Whether it should be refreshed although it is fresh, so that nobody has to wait when it no longer is: XFetch
    /// (Vattani, Chierichetti, Lowenstein: Optimal Probabilistic Cache Stampede Prevention, 2015). A finding that ends
    /// where a period ends is not: asked before, Apple would say the same.
    /// - Parameter chance: minus the logarithm of a random number between 0 and 1.
    func isDue(at now: Timestamp, randomness: Double) -> Bool {
        guard freshUntil <= now.advanced(by: took * randomness), case .answered = result else { return false }
        return !hasPassedBoundary(at: freshUntil)
    }
}
