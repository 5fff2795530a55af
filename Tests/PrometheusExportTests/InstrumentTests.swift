// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Telemetry

struct InstrumentTests {
    private static let counted = MetricFamily(
        "counted_total", .counter, "Help.", labelNames: ["x"], labelSets: [["a"], ["b"]])
    private static let measured = MetricFamily("measured", .gauge, "Help.")
    private static let timed = MetricFamily("timed_seconds", .histogram(buckets: [0.5, 2]), "Help.")
    private static let all = [counted, measured, timed]

    @Test func `the same labels are the same series`() throws {
        let registry = try PrometheusRegistry(Self.all)
        registry.counter(Self.counted, ["a"]).increment()
        registry.counter(Self.counted, ["a"]).increment(by: 41)
        #expect(registry.counter(Self.counted, ["a"]).value == 42)
        #expect(registry.counter(Self.counted, ["b"]).value == 0)
        #expect(registry.text().contains("counted_total{x=\"a\"} 42\n"))
    }

    @Test func `a counter only grows`() {
        let counter = PrometheusCounter()
        counter.increment(by: 5)
        for amount: Int64 in [0, -1, .min] { counter.increment(by: amount) }
        #expect(counter.value == 5)
        counter.reset()
        #expect(counter.value == 0)
    }

    @Test func `a gauge goes up and down`() {
        let gauge = PrometheusGauge()
        gauge.set(3.0)
        gauge.increment(by: 1.5)
        gauge.decrement(by: 4)
        #expect(gauge.value == 0.5)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `a value that is not finite does not spoil a histogram`(value: Double) {
        let histogram = PrometheusHistogram(bounds: [1])
        histogram.record(value)
        histogram.record(0.5)
        #expect(histogram.sum == 0.5)
        #expect(histogram.cumulativeCounts == [1, 1])
    }

    @Test func `durations are seconds`() {
        let histogram = PrometheusHistogram(bounds: [0.5, 2])
        histogram.recordNanoseconds(1_500_000_000)
        #expect(histogram.sum == 1.5)
        #expect(histogram.cumulativeCounts == [0, 1, 1])
    }

    @Test func `no increment is lost when many tasks count at once`() async throws {
        let registry = try PrometheusRegistry(Self.all)
        let counter = registry.counter(Self.counted, ["a"])
        let (gauge, histogram) = (registry.gauge(Self.measured), registry.histogram(Self.timed))
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<200_000 {
                        counter.increment()
                        gauge.increment(by: 1)
                        histogram.record(1.0)
                    }
                }
            }
        }
        #expect(counter.value == 800_000)
        #expect(gauge.value == 800_000)
        #expect(histogram.sum == 800_000)
        #expect(histogram.cumulativeCounts == [0, 800_000, 800_000])
    }

    @Test func `a reading is read at each scrape`() throws {
        let source = PrometheusGauge()
        let registry = try PrometheusRegistry(Self.all, readings: [MetricReading(Self.measured) { source.value }])
        source.set(7.25)
        #expect(registry.text().contains("measured 7.25\n"))
        source.set(8.0)
        #expect(registry.text().contains("measured 8\n"))
    }

    @Test func `an undeclared series is harmless, counted and not exported`() throws {
        let registry = try PrometheusRegistry(Self.all)
        registry.counter(Self.counted, ["c"]).increment()
        registry.counter(Self.counted).increment()
        registry.counter(Self.measured).increment()
        registry.gauge(Self.timed).set(1.0)
        registry.histogram(Self.measured).record(1.0)
        registry.gauge(MetricFamily("unheard_of", .gauge, "Help.")).set(1.0)
        let text = registry.text()
        #expect(text.contains("prometheus_export_undeclared_total 6\n"))
        #expect(!text.contains("unheard_of") && !text.contains("\"c\"") && text.contains("measured 0\n"))
    }
}
