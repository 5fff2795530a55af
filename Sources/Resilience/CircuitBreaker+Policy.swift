// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension CircuitBreaker {
    /// The settings of a circuit breaker. Values outside `Limits` are clamped.
    public struct Policy: Hashable, Sendable {
        /// The width of one bucket of the window in which calls are counted.
        package let bucketWidth: Duration
        /// The number of buckets in the window; the oldest is replaced next.
        package let bucketCount: Int
        /// The number of calls in the window below which percentages are ignored.
        package let minimumCalls: Int
        /// The percentage of failures that trips the breaker.
        package let failurePercent: Int
        /// The percentage of slow calls, failed or not, that trips the breaker.
        package let slowPercent: Int
        package let slowCall: Duration
        /// The number of hard failures in a row that trips the breaker, however few calls there were.
        package let hardFailuresInARow: Int
        /// The duration of the first opening, before jitter; doubled each time until the breaker closes.
        package let firstOpening: Duration
        package let longestOpening: Duration
        /// The number of concurrent probes, which must succeed for the breaker to close.
        package let probes: Int
        /// The time until a probe without a recorded outcome loses its slot. Longer than a call may take.
        package let probeLease: Duration

        package init(
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

        func isTripped(by counts: CallCounts) -> Bool {
            guard counts.calls >= minimumCalls else { return false }
            return counts.failures * 100 >= counts.calls * failurePercent
                || counts.slow * 100 >= counts.calls * slowPercent
        }
    }

    package enum Limits {
        package static let span: ClosedRange<Duration> = .milliseconds(1) ... .seconds(3600)
        package static let buckets = 1...100
        package static let calls = 1...1_000_000
        package static let percent = 1...100
        package static let probes = 1...100
    }
}
