// SPDX-License-Identifier: Apache-2.0

internal import CoreMetrics
internal import Synchronization

protocol Instrument: Sendable {
    /// The values of the series' lines, in the order of `MetricFamily.lineStarts`.
    var valueTexts: [String] { get }
    /// False for a counter or a histogram without an event.
    var hasCounted: Bool { get }
}

extension Instrument {
    var hasCounted: Bool { true }
}

extension MetricFamily {
    func makeInstrument() -> any Instrument {
        switch kind {
        case .counter: PrometheusCounter()
        case .gauge: PrometheusGauge()
        case .histogram(let bounds): PrometheusHistogram(bounds: bounds)
        }
    }
}

/// A counter. An increment is one relaxed atomic addition.
package final class PrometheusCounter: CounterHandler, Instrument {
    private let count = Atomic<UInt64>(0)

    package var value: UInt64 { count.load(ordering: .relaxed) }
    var hasCounted: Bool { value > 0 }
    var valueTexts: [String] { [String(value)] }

    package func increment() { count.wrappingAdd(1, ordering: .relaxed) }

    /// Adds an amount; negative amounts are ignored, because a counter only increases.
    package func increment(by amount: Int64) {
        guard amount > 0 else { return }
        count.wrappingAdd(UInt64(amount), ordering: .relaxed)
    }

    /// Restarts at 0, as after a restart of the process.
    package func reset() { count.store(0, ordering: .relaxed) }
}

package final class PrometheusGauge: RecorderHandler, MeterHandler, Instrument {
    private let current = Atomic<Double>(0)

    package var value: Double { current.load(ordering: .relaxed) }
    var valueTexts: [String] { [value.metricText] }

    package func set(_ value: Double) { current.store(value, ordering: .relaxed) }
    package func set(_ value: Int64) { set(Double(value)) }
    package func increment(by amount: Double) { current.add(amount) }
    package func decrement(by amount: Double) { current.add(-amount) }

    // The names of `set` in the interface of swift-metrics.
    package func record(_ value: Int64) { set(Double(value)) }
    package func record(_ value: Double) { set(value) }
}

/// A histogram. Recording a value is a search among the bounds and two atomic additions.
package final class PrometheusHistogram: RecorderHandler, TimerHandler, Instrument {
    private let bounds: [Double]
    /// A counter per bound and one for values beyond, each of its own values; sums are computed at a scrape.
    private let counters: [PrometheusCounter]
    private let total = Atomic<Double>(0)

    init(bounds: [Double]) {
        self.bounds = bounds
        counters = (0...bounds.count).map { _ in PrometheusCounter() }
    }

    package var sum: Double { total.load(ordering: .relaxed) }

    /// The number of values up to each bound; the last is the number of all values.
    package var cumulativeCounts: [UInt64] {
        var count: UInt64 = 0
        return counters.map { counter in
            count &+= counter.value
            return count
        }
    }

    var hasCounted: Bool { counters.contains(where: \.hasCounted) }

    var valueTexts: [String] {
        let counts = cumulativeCounts.map { String($0) }
        return counts + [sum.metricText] + counts.suffix(1)
    }

    /// Records a value. Values that are not finite are ignored: one would spoil the sum for ever.
    package func record(_ value: Double) {
        guard value.isFinite else { return }
        counters[bounds.firstIndex { value <= $0 } ?? bounds.count].increment()
        total.add(value)
    }

    package func record(_ value: Int64) { record(Double(value)) }

    package func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}

package struct MetricReading: Sendable, Instrument {
    let family: MetricFamily
    let labelValues: [String]
    let value: @Sendable () -> Double
    var valueTexts: [String] { [value().metricText] }

    /// Declares a reading for a series of a counter or gauge. The value of a counter must only increase.
    package init(_ family: MetricFamily, _ labelValues: [String] = [], value: @escaping @Sendable () -> Double) {
        (self.family, self.labelValues, self.value) = (family, labelValues, value)
    }
}

/// The series of a family that are listed at each scrape. Their label values must come from the operator's
/// configuration, never from a client.
package struct SeriesReading: Sendable {
    let family: MetricFamily
    let values: @Sendable () -> [[String]: Double]

    /// - Parameter values: returns the values by label values; the values of a counter only increase. Beyond
    ///   `MetricFamily.Limits.readSeries`, the last in alphabetical order are left out.
    package init(_ family: MetricFamily, values: @escaping @Sendable () -> [[String]: Double]) {
        (self.family, self.values) = (family, values)
    }

    var lines: [String] {
        let complete = values().filter { $0.key.count == family.labelNames.count }
        let sorted = complete.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        return sorted.prefix(MetricFamily.Limits.readSeries).flatMap { labelValues, value in
            family.lineStarts(labelValues).map { $0 + value.metricText + "\n" }
        }
    }
}

extension Atomic<Double> {
    /// Adds without a lock: a thread that loses the race retries, and one thread always wins.
    fileprivate func add(_ amount: Double) {
        var seen = load(ordering: .relaxed)
        while true {
            let (isDone, found) = weakCompareExchange(expected: seen, desired: seen + amount, ordering: .relaxed)
            if isDone { return }
            seen = found
        }
    }
}
