// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Resilience

/// How many tokens may be taken, and what becomes of requests while nobody can say how many were.
public struct RatePolicy: Hashable, Sendable {
    /// What it is called in headers, metrics and the store, such as `minute`.
    public let name: String
    /// How many tokens arrive in each window, evenly.
    public let quota: Int
    /// The span in which the quota arrives.
    public let window: Duration
    /// The most tokens the bucket holds: the largest number that may be taken at once.
    public let burst: Int
    /// What happens while the store cannot be asked.
    public let whenStoreFails: StoreFailureRule
    /// Whether it is only observed: it decides and is counted, and refuses nobody.
    public let isShadow: Bool
    /// Whether nodes may take tokens in advance, which saves most questions to the store for busy clients.
    public let isLeased: Bool

    /// A policy. What lies outside `Limits` is taken for the nearest that does not.
    /// - Parameter burst: the quota if absent.
    public init(
        name: String, quota: Int, window: Duration, burst: Int? = nil, whenStoreFails: StoreFailureRule = .local,
        isShadow: Bool = false, isLeased: Bool = true
    ) {
        self.name = name
        self.quota = min(max(quota, Limits.tokens.lowerBound), Limits.tokens.upperBound)
        self.window = min(max(window, Limits.window.lowerBound), Limits.window.upperBound)
        let largestBurst = min(Limits.tokens.upperBound, max(1, Int(Limits.timeToFill / (self.window / self.quota))))
        self.burst = min(max(burst ?? quota, Limits.tokens.lowerBound), largestBurst)
        self.whenStoreFails = whenStoreFails
        self.isShadow = isShadow
        self.isLeased = isLeased
    }

    /// The bucket it describes.
    public var tokenBucket: TokenBucket.Policy {
        TokenBucket.Policy(capacity: burst, refill: quota, per: window)
    }

    /// What a policy may say. The store counts time in whole microseconds and keeps integers of 53 bits.
    public enum Limits {
        /// Tokens in a bucket, and tokens that arrive in one window.
        public static let tokens = 1...10_000_000
        /// The span in which the quota arrives.
        public static let window: ClosedRange<Duration> = .milliseconds(100) ... .seconds(31 * 86_400)
        /// How long an empty bucket takes to fill: a larger burst would hardly ever be there.
        public static let timeToFill: Duration = .seconds(366 * 86_400)
    }
}

/// What a policy does with requests while the store cannot be asked.
public enum StoreFailureRule: String, CaseIterable, Hashable, Sendable {
    /// Each node admits its share: the limit divided by the number of live nodes.
    case local
    /// Everything is admitted.
    case open
    /// Nothing is admitted.
    case closed
}
