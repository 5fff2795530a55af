// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
internal import Synchronization

/// Counts values by their size. Recording one is a search among the bounds and two atomic additions.
public final class PrometheusHistogram: RecorderHandler, TimerHandler {
    private let bounds: [Double]
    /// One for each bound and one for what lies beyond them; each counts its own values only, and the sums that
    /// Prometheus wants are made when somebody asks.
    private let counters: [PrometheusCounter]
    private let total = Atomic<Double>(0)

    init(bounds: [Double]) {
        self.bounds = bounds
        counters = (0...bounds.count).map { _ in PrometheusCounter() }
    }

    /// The sum of all values.
    public var sum: Double { total.load(ordering: .relaxed) }

    /// How many values were at most as large as each bound; the last of all: how many there were.
    public var cumulativeCounts: [UInt64] {
        var count: UInt64 = 0
        return counters.map { counter in
            count &+= counter.value
            return count
        }
    }

    /// Counts a value. What is not a finite number is ignored: it would make the sum useless for ever.
    public func record(_ value: Double) {
        guard value.isFinite else { return }
        counters[bounds.firstIndex { value <= $0 } ?? bounds.count].increment()
        total.add(value)
    }

    /// Counts a value.
    public func record(_ value: Int64) { record(Double(value)) }

    /// Counts a duration, in seconds.
    public func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
