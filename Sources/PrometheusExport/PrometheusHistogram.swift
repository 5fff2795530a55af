// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
internal import Synchronization

/// A histogram. Recording a value is a search among the bounds and two atomic additions.
public final class PrometheusHistogram: RecorderHandler, TimerHandler {
    private let bounds: [Double]
    /// One per bound and one for values beyond. Each counts its own values; the cumulative sums are computed at a
    /// scrape.
    private let counters: [PrometheusCounter]
    private let total = Atomic<Double>(0)

    init(bounds: [Double]) {
        self.bounds = bounds
        counters = (0...bounds.count).map { _ in PrometheusCounter() }
    }

    /// The sum of all values.
    public var sum: Double { total.load(ordering: .relaxed) }

    /// The number of values up to each bound; the last is the number of all values.
    public var cumulativeCounts: [UInt64] {
        var count: UInt64 = 0
        return counters.map { counter in
            count &+= counter.value
            return count
        }
    }

    /// Records a value. Values that are not finite are ignored: one would spoil the sum for ever.
    public func record(_ value: Double) {
        guard value.isFinite else { return }
        counters[bounds.firstIndex { value <= $0 } ?? bounds.count].increment()
        total.add(value)
    }

    /// Records a value.
    public func record(_ value: Int64) { record(Double(value)) }

    /// Records a duration as seconds.
    public func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
