// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Decides what a cached finding is good for.
public struct CachePolicy: Sendable {
    /// The use of a finding for one request.
    enum Use: Hashable, Sendable {
        /// It is fresh.
        case fresh
        /// It is fresh, and a new one is fetched before it no longer is.
        case dueForRefresh
        /// It is just past its time, and answers while a new one is fetched (RFC 5861 §3).
        case stale
        /// A new one has to be fetched first.
        case expired
    }

    private let freshness: FreshnessPolicy
    private let randomness: @Sendable () -> Double

    /// Creates a policy.
    /// - Parameters:
    ///   - freshness: how long answers may be repeated.
    ///   - randomness: returns minus the logarithm of a random number between 0 and 1, which spreads the nodes' early
    ///     refreshes. 0 never refreshes early.
    public init(freshness: FreshnessPolicy = FreshnessPolicy(), randomness: @escaping @Sendable () -> Double) {
        self.freshness = freshness
        self.randomness = randomness
    }

    /// Returns the use of a finding for a request.
    func use(of known: CachedResult, for assessment: Assessment) -> Use {
        let now = assessment.now, maximumAge = assessment.request.options.maximumAge
        if known.isFresh(at: now, maximumAge: maximumAge) {
            return known.isDue(at: now, randomness: randomness()) ? .dueForRefresh : .fresh
        }
        let isUsable =
            maximumAge == nil && known.isStale(within: freshness.staleWhileRevalidate, at: now)
            && !known.hasPassedBoundary(at: now)
        return isUsable ? .stale : .expired
    }

    /// Whether a finding still answers where Apple does not (RFC 5861 §4).
    func answersWithoutUpstream(_ known: CachedResult, at now: Timestamp) -> Bool {
        known.answerHolds(for: freshness.staleIfError, at: now)
    }
}
