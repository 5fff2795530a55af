// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How many retries all calls together may cause: one for every ten calls, and one each second however few there are.
/// Without it retries double the load on an upstream just when it fails.
public struct RetryBudget: Hashable, Sendable {
    /// Whether a retry may be made.
    public enum Decision: Hashable, Sendable {
        /// It is paid for.
        case granted
        /// Too many were made lately. Without further calls, the next is granted after this span.
        case spent(retryAfter: Duration)
    }

    /// How many calls pay for one retry.
    public let callsPerRetry: Int
    /// One token is one retry. Time pays for the floor, and calls for the rest.
    private var retries: TokenBucket
    /// The time that one call is worth.
    private let spanPerCall: Duration

    /// A full budget. What lies outside `Limits` is taken for the nearest that does not.
    ///
    /// - Parameters:
    ///   - callsPerRetry: how many calls pay for one retry; 10 is a budget of 10 %.
    ///   - retriesPerSecond: the floor, granted with no calls at all.
    ///   - burst: how many unused retries are kept for later.
    public init(callsPerRetry: Int = 10, retriesPerSecond: Int = 1, burst: Int = 10) {
        self.callsPerRetry = callsPerRetry.clamped(to: Limits.calls)
        retries = TokenBucket(TokenBucket.Policy(capacity: burst, refill: retriesPerSecond, per: .seconds(1)))
        spanPerCall = retries.policy.emissionInterval / self.callsPerRetry
    }

    /// What a budget may say; the burst and the floor are those of a token bucket.
    public enum Limits {
        /// Calls that pay for one retry.
        public static let calls = 1...1_000_000
    }

    /// A first call is made: not a retry.
    public mutating func recordCall(at now: Instant) {
        retries.refill(by: spanPerCall, at: now)
    }

    /// Takes one retry. To be asked when a retry is scheduled, not when it is sent: otherwise all that wait for their
    /// backoff see the same budget.
    public mutating func take(at now: Instant) -> Decision {
        switch retries.take(at: now) {
        case .admitted: .granted
        case .refused(let wait): .spent(retryAfter: wait)
        // A budget holds at least one retry.
        case .costExceedsCapacity: .spent(retryAfter: retries.policy.timeToFill)
        }
    }
}
