// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Resilience

/// A rate limit, and its rule for an unavailable store.
public struct RatePolicy: Hashable, Sendable {
    /// The name in headers, metrics and the store, such as `minute`.
    package let name: String
    /// The number of tokens that arrive in each window, evenly.
    package let quota: Int
    package let window: Duration
    /// The maximum number of tokens in the bucket: the largest number that may be taken at once.
    package let burst: Int
    package let whenStoreFails: StoreFailureRule
    /// True if the policy is only observed: it decides and is counted, but refuses nothing.
    package let isShadow: Bool
    /// True if nodes may take tokens in advance, which saves most requests to the store for busy clients.
    package let isLeased: Bool

    /// Creates a policy; values outside `Limits` are clamped.
    /// - Parameter burst: the quota if absent.
    package init(
        name: String, quota: Int, window: Duration, burst: Int? = nil, whenStoreFails: StoreFailureRule = .local,
        isShadow: Bool = false, isLeased: Bool = true
    ) {
        self.name = name
        self.quota = quota.clamped(to: Limits.tokens)
        self.window = window.clamped(to: Limits.window)
        let largestBurst = Int(Limits.timeToFill / (self.window / self.quota)).clamped(to: Limits.tokens)
        self.burst = (burst ?? quota).clamped(to: Limits.tokens.lowerBound...largestBurst)
        self.whenStoreFails = whenStoreFails
        self.isShadow = isShadow
        self.isLeased = isLeased
    }

    package var tokenBucket: TokenBucket.Policy {
        TokenBucket.Policy(capacity: burst, refill: quota, per: window)
    }

    /// The limits of a policy. The store counts time in whole microseconds and keeps integers of 53 bits.
    package enum Limits {
        /// Tokens in a bucket, and tokens that arrive in one window.
        package static let tokens = 1...10_000_000
        package static let window: ClosedRange<Duration> = .milliseconds(100) ... .seconds(31 * 86_400)
        /// The time in which an empty bucket fills: a larger burst would hardly ever be available.
        package static let timeToFill: Duration = .seconds(366 * 86_400)
    }
}

/// A policy's rule for requests while the store is unavailable.
package enum StoreFailureRule: String, CaseIterable, Hashable, Sendable {
    /// Each node admits its share: the limit divided by the number of live nodes.
    case local
    case open
    case closed
}
