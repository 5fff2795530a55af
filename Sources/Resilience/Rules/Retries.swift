// SPDX-License-Identifier: Apache-2.0

/// The budget of retries for all calls together: one retry for every ten calls, and one retry each second however few
/// the calls are. Without a budget, retries double the load on an upstream just when it fails.
package struct RetryBudget: Hashable, Sendable {
    enum Limits {
        /// The maximum number of unused retries kept for later.
        static let burst = 10
        static let delay: Duration = .milliseconds(100)
    }

    /// One token is one retry. Time refills one each second, and calls refill the rest.
    private var retries = TokenBucket(TokenBucket.Policy(capacity: Limits.burst, refill: 1, per: .seconds(1)))

    /// Creates a full budget.
    package init() {}

    /// Records a first call, not a retry. It pays for a tenth of one.
    package mutating func recordCall(at now: Instant) {
        retries.refill(by: retries.policy.emissionInterval / 10, at: now)
    }

    /// Decides after a failure, and charges a retry to the budget. The delay is random ("full jitter"), so that failed
    /// callers do not return together.
    ///
    /// - Parameters:
    ///   - start: the time of the first attempt.
    ///   - deadline: the time at which the caller stops waiting. A retry in the second half would be cut short.
    /// - Returns: the delay before the retry; nil for no retry.
    package mutating func delay(
        from start: Instant, until deadline: Instant, at now: Instant, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        let delay = Duration.random(upTo: Limits.delay, using: &generator)
        guard now + delay < start + start.duration(to: deadline) / 2 else { return nil }
        return take(at: now) ? delay : nil
    }

    /// Takes one retry; false if too many were made lately. Call it when a retry is scheduled: if called when it is
    /// sent, all calls in backoff see the same budget.
    mutating func take(at now: Instant) -> Bool { retries.take(at: now) == .admitted }
}

/// The pause that an upstream requested (429 with `Retry-After`).
package struct UpstreamPause: Hashable, Sendable {
    package enum Limits {
        /// The maximum; after this time the upstream is called again, whatever it requested.
        package static let longest: Duration = .seconds(3600)
    }

    /// The end of the pause, which may be past; nil if there was none.
    package private(set) var until: Instant?

    package init() {}

    /// Pauses until `end`, but at most for `Limits.longest`. A longer pause in effect stays as it is.
    package mutating func pause(until end: Instant, at now: Instant) {
        until = min(max(end, until ?? end), now + Limits.longest)
    }

    /// Returns the rest of the pause; nil if there is none. At most `Limits.longest`, even if the clock went back.
    package mutating func remaining(at now: Instant) -> Duration? {
        guard let end = until, now < end else { return nil }
        until = min(end, now + Limits.longest)
        return until.map { now.duration(to: $0) }
    }
}
