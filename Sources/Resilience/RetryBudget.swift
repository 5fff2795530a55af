// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The budget of retries for all calls together: one for every ten calls, and one each second however few there are.
/// Without it, retries double the load on an upstream just when it fails.
public struct RetryBudget: Hashable, Sendable {
    /// The decision about a retry.
    public enum Decision: Hashable, Sendable {
        /// The retry may be made.
        case granted
        /// Too many were made lately. Without further calls, the next is granted after this time.
        case spent(retryAfter: Duration)
    }

    /// The number of calls that pay for one retry.
    public let callsPerRetry: Int
    /// One token is one retry. Time refills the minimum, and calls refill the rest.
    private var retries: TokenBucket
    /// The refill time that one call is worth.
    private let spanPerCall: Duration

    /// Creates a full budget; values outside `Limits` are clamped.
    ///
    /// - Parameters:
    ///   - callsPerRetry: the number of calls that pay for one retry; 10 is a budget of 10 %.
    ///   - retriesPerSecond: the minimum, granted without any calls.
    ///   - burst: the maximum number of unused retries kept for later.
    public init(callsPerRetry: Int = 10, retriesPerSecond: Int = 1, burst: Int = 10) {
        self.callsPerRetry = callsPerRetry.clamped(to: Limits.calls)
        retries = TokenBucket(TokenBucket.Policy(capacity: burst, refill: retriesPerSecond, per: .seconds(1)))
        spanPerCall = retries.policy.emissionInterval / self.callsPerRetry
    }

    /// The limits of a budget; burst and minimum have those of a token bucket.
    public enum Limits {
        /// Calls that pay for one retry.
        public static let calls = 1...1_000_000
    }

    /// Records a first call, not a retry.
    public mutating func recordCall(at now: Instant) {
        retries.refill(by: spanPerCall, at: now)
    }

    /// Takes one retry. Call it when a retry is scheduled: if called when it is sent, all calls in backoff see the same
    /// budget.
    public mutating func take(at now: Instant) -> Decision {
        switch retries.take(at: now) {
        case .admitted: .granted
        case .refused(let wait): .spent(retryAfter: wait)
        // A budget holds at least one retry.
        case .costExceedsCapacity: .spent(retryAfter: retries.policy.timeToFill)
        }
    }
}
