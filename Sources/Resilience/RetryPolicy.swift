// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Whether to try a failed call again, and when.
public struct RetryPolicy: Hashable, Sendable {
    /// What is to happen after a failure that could be retried.
    public enum Decision: Hashable, Sendable {
        /// Try again after this span. It is paid for.
        case retry(after: Duration)
        /// Let the failure stand.
        case stop(Reason)
    }

    /// Why there is no retry.
    public enum Reason: Hashable, Sendable, CaseIterable {
        /// This call was tried often enough.
        case retriesUsed
        /// It could not begin before half of the time is gone, and would be cut short.
        case tooLate
        /// All calls together retried too much lately.
        case budgetSpent
    }

    /// How often one call is retried.
    public let maximumRetries: Int
    /// How long to wait before.
    public let backoff: Backoff

    /// What lies outside `Limits` is taken for the nearest that does not.
    public init(maximumRetries: Int = 1, backoff: Backoff = Backoff()) {
        self.maximumRetries = maximumRetries.clamped(to: Limits.retries)
        self.backoff = backoff
    }

    /// What a policy may say.
    public enum Limits {
        /// Retries of one call.
        public static let retries = 0...10
    }

    /// Decides after a failure, and takes the retry from the budget.
    ///
    /// - Parameters:
    ///   - retries: how many retries this call has had.
    ///   - start: when the call was first made.
    ///   - deadline: when its caller stops waiting.
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
