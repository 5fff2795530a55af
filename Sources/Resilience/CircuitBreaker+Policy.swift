// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension CircuitBreaker {
    /// The settings of a circuit breaker.
    public struct Policy: Hashable, Sendable {
        /// The width of one bucket of the window in which calls are counted.
        public let bucketWidth: Duration
        /// The number of buckets in the window; the oldest is replaced next.
        public let bucketCount: Int
        /// The number of calls in the window below which percentages are ignored.
        public let minimumCalls: Int
        /// The percentage of failures that trips the breaker.
        public let failurePercent: Int
        /// The percentage of slow calls, failed or not, that trips the breaker.
        public let slowPercent: Int
        /// The duration above which a call is slow.
        public let slowCall: Duration
        /// The number of hard failures in a row that trips the breaker, however few calls there were.
        public let hardFailuresInARow: Int
        /// The duration of the first opening, before jitter; doubled each time until the breaker closes.
        public let firstOpening: Duration
        /// The maximum duration of an opening.
        public let longestOpening: Duration
        /// The number of concurrent probes, which must succeed for the breaker to close.
        public let probes: Int
        /// The time until a probe without a recorded outcome loses its slot. Longer than a call may take.
        public let probeLease: Duration

        /// Creates a policy; values outside `Limits` are clamped.
        public init(
            bucketWidth: Duration = .seconds(3), bucketCount: Int = 10, minimumCalls: Int = 20,
            failurePercent: Int = 50, slowPercent: Int = 80, slowCall: Duration = .seconds(5),
            hardFailuresInARow: Int = 5, firstOpening: Duration = .seconds(5), longestOpening: Duration = .seconds(300),
            probes: Int = 3, probeLease: Duration = .seconds(15)
        ) {
            self.bucketWidth = bucketWidth.clamped(to: Limits.span)
            self.bucketCount = bucketCount.clamped(to: Limits.buckets)
            self.minimumCalls = minimumCalls.clamped(to: Limits.calls)
            self.failurePercent = failurePercent.clamped(to: Limits.percent)
            self.slowPercent = slowPercent.clamped(to: Limits.percent)
            self.slowCall = slowCall.clamped(to: Limits.span)
            self.hardFailuresInARow = hardFailuresInARow.clamped(to: Limits.calls)
            self.firstOpening = firstOpening.clamped(to: Limits.span)
            self.longestOpening = longestOpening.clamped(to: self.firstOpening...Limits.span.upperBound)
            self.probes = probes.clamped(to: Limits.probes)
            self.probeLease = probeLease.clamped(to: Limits.span)
        }

        func isTripped(by tally: CallTally) -> Bool {
            guard tally.calls >= minimumCalls else { return false }
            return tally.failures * 100 >= tally.calls * failurePercent || tally.slow * 100 >= tally.calls * slowPercent
        }
    }

    /// The limits of a policy.
    public enum Limits {
        /// Durations.
        public static let span: ClosedRange<Duration> = .milliseconds(1) ... .seconds(3600)
        /// Buckets of the window.
        public static let buckets = 1...100
        /// Numbers of calls.
        public static let calls = 1...1_000_000
        /// Percentages.
        public static let percent = 1...100
        /// Concurrent probes.
        public static let probes = 1...100
    }
}
