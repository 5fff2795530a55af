// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The rules for retrying a failed call.
public struct RetryPolicy: Hashable, Sendable {
    /// The decision after a failure that could be retried.
    public enum Decision: Hashable, Sendable {
        /// Retry after this delay. The budget has been charged.
        case retry(after: Duration)
        /// Do not retry.
        case stop(Reason)
    }

    /// The reason for not retrying.
    public enum Reason: Hashable, Sendable, CaseIterable {
        /// The call had all its retries.
        case retriesUsed
        /// The retry would begin after half of the time, and be cut short.
        case tooLate
        /// All calls together were retried too often lately.
        case budgetSpent
    }

    /// The maximum number of retries of one call.
    public let maximumRetries: Int
    /// The delay before a retry.
    public let backoff: Backoff

    /// Creates a policy; values outside `Limits` are clamped.
    public init(maximumRetries: Int = 1, backoff: Backoff = Backoff()) {
        self.maximumRetries = maximumRetries.clamped(to: Limits.retries)
        self.backoff = backoff
    }

    /// The limits of a policy.
    public enum Limits {
        /// Retries of one call.
        public static let retries = 0...10
    }

    /// Decides after a failure, and charges a retry to the budget.
    ///
    /// - Parameters:
    ///   - retries: the number of earlier retries of this call.
    ///   - start: the time of the first attempt.
    ///   - deadline: the time at which the caller stops waiting.
    public func decision(
        afterRetries retries: Int, from start: Instant, until deadline: Instant, at now: Instant,
        budget: inout RetryBudget, using generator: inout some RandomNumberGenerator
    ) -> Decision {
        guard retries < maximumRetries else { return .stop(.retriesUsed) }
        let delay = backoff.delay(afterRetries: retries, using: &generator)
        guard now + delay < start + start.duration(to: deadline) / 2 else { return .stop(.tooLate) }
        guard budget.take(at: now) else { return .stop(.budgetSpent) }
        return .retry(after: delay)
    }
}

/// The delay before a retry: random, up to a ceiling that doubles each time ("full jitter"), so that failed callers do
/// not return together.
public struct Backoff: Hashable, Sendable {
    /// The ceiling before the first retry.
    public let base: Duration
    /// The maximum of the ceiling.
    public let longest: Duration

    /// Creates a backoff; values outside `Limits` are clamped.
    public init(base: Duration = .milliseconds(100), longest: Duration = .seconds(2)) {
        self.base = base.clamped(to: Limits.span)
        self.longest = longest.clamped(to: Limits.span)
    }

    /// The limits of a backoff.
    public enum Limits {
        /// The range of both durations.
        public static let span: ClosedRange<Duration> = .milliseconds(1) ... .seconds(3600)
    }

    /// Returns a delay between zero and `min(longest, base * 2^retries)`.
    ///
    /// - Parameter retries: the number of earlier retries.
    public func delay(afterRetries retries: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        .random(upTo: base.doubled(retries, upTo: longest), using: &generator)
    }
}

/// The budget of retries for all calls together: one for every ten calls, and one each second however few there are.
/// Without it, retries double the load on an upstream just when it fails.
public struct RetryBudget: Hashable, Sendable {
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
        retries = TokenBucket(TokenBucket.Policy(capacity: burst, refill: retriesPerSecond, per: .seconds(1)))
        spanPerCall = retries.policy.emissionInterval / callsPerRetry.clamped(to: Limits.calls)
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

    /// Takes one retry; false if too many were made lately. Call it when a retry is scheduled: if called when it is
    /// sent, all calls in backoff see the same budget.
    public mutating func take(at now: Instant) -> Bool { retries.take(at: now) == .admitted }
}
