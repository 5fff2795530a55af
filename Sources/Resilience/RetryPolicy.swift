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
        guard budget.take(at: now) == .granted else { return .stop(.budgetSpent) }
        return .retry(after: delay)
    }
}
