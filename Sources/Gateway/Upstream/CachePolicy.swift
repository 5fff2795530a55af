// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Decides if a cached result may be used.
package struct CachePolicy: Sendable {
    /// The use of a cached result for one request.
    enum Use: Hashable, Sendable {
        case fresh
        /// The result is fresh, and a new result is fetched in the background.
        case dueForRefresh
        /// The result is just past its freshness, and is used while a new result is fetched (RFC 5861 §3).
        case stale
        case expired
    }

    private let freshness = FreshnessPolicy()
    private let randomness: @Sendable () -> Double

    /// - Parameter randomness: returns minus the logarithm of a random number between 0 and 1, which spreads the nodes'
    ///   early refreshes. 0 never refreshes early.
    package init(randomness: @escaping @Sendable () -> Double) { self.randomness = randomness }

    func use(of known: CachedResult, for evaluated: EvaluatedRequest) -> Use {
        let now = evaluated.now, maximumAge = evaluated.request.options.maximumAge
        let isLocal = evaluated.request.options.mode == .local
        guard isLocal || !evaluated.needsMore(than: known) else { return .expired }
        if known.isFresh(at: now, maximumAge: maximumAge) {
            return !isLocal && known.isDue(at: now, randomness: randomness()) ? .dueForRefresh : .fresh
        }
        let isUsable =
            isLocal
            ? answersWithoutUpstream(known, about: evaluated.subject, at: now)
                && known.fetchedAt.isWithin(maximumAge, at: now)
            : maximumAge == nil && known.isStale(within: freshness.staleWhileRevalidate, at: now)
                && !known.hasPassedBoundary(at: now)
        return isUsable ? .stale : .expired
    }

    /// Returns true if a result may still be used when Apple does not answer (RFC 5861 §4).
    func answersWithoutUpstream(_ known: CachedResult, about subject: VerificationSubject, at now: Timestamp) -> Bool {
        // "Account not found" does not qualify: repeated too long, it would reject a paying customer.
        guard known.answer != nil, known.isStale(within: freshness.staleIfError, at: now) else { return false }
        // The status of Apple's answer to a transaction receipt says if the subscription has ended, so it ends with it.
        return subject.evidence?.transactionReceipt == nil || !known.hasPassedBoundary(at: now)
    }
}
