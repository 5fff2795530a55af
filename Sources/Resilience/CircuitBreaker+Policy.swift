// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension CircuitBreaker {
    /// The numbers of a breaker.
    public struct Policy: Hashable, Sendable {
        /// The width of one bucket of the window in which calls are counted.
        public let bucketWidth: Duration
        /// How many buckets the window has; the oldest is the one that is forgotten next.
        public let bucketCount: Int
        /// With fewer calls in the window, shares mean nothing.
        public let minimumCalls: Int
        /// Trips at this share of failures.
        public let failurePercent: Int
        /// Trips at this share of slow calls, failed or not.
        public let slowPercent: Int
        /// What takes longer is slow.
        public let slowCall: Duration
        /// Trips at so many hard failures with no other answer between them, however few calls there were.
        public let hardFailuresInARow: Int
        /// How long it opens at first, before jitter; twice as long each time until it closes.
        public let firstOpening: Duration
        /// The longest it opens.
        public let longestOpening: Duration
        /// How many probes are let through at a time, and must succeed for it to close.
        public let probes: Int
        /// How long a probe keeps its place if nobody records what became of it. Longer than a call may take.
        public let probeLease: Duration

        /// What lies outside `Limits` is taken for the nearest that does not.
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

    /// What a policy may say.
    public enum Limits {
        /// Every span.
        public static let span: ClosedRange<Duration> = .milliseconds(1) ... .seconds(3600)
        /// Buckets of the window.
        public static let buckets = 1...100
        /// Numbers of calls.
        public static let calls = 1...1_000_000
        /// Shares.
        public static let percent = 1...100
        /// Probes at a time.
        public static let probes = 1...100
    }
}
