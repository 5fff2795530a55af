// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Testing

@testable import Telemetry

/// The view of a library that counts through swift-metrics.
struct MetricsFactoryTests {
    private let registry: PrometheusRegistry

    init() throws {
        registry = try PrometheusRegistry([
            MetricFamily(
                "http_requests_total", .counter, "Help.", labelNames: ["path", "status"],
                labelSets: [["/", "200"], ["/", "500"]]),
            MetricFamily("pool_size", .gauge, "Help."), MetricFamily("pool_level", .gauge, "Help."),
            MetricFamily("pool_wait_seconds", .histogram(buckets: [0.5, 2]), "Help."),
            MetricFamily("body_bytes", .histogram(buckets: [100, 1000]), "Help."),
        ])
    }

    @Test func `every kind of instrument reaches its series`() {
        let labels = [("status", "200"), ("path", "/")]
        Counter(label: "http.requests", dimensions: labels, factory: registry).increment(by: 3)
        Gauge(label: "pool-size", factory: registry).record(4)
        let level = Meter(label: "pool.level", factory: registry)
        level.set(2)
        level.decrement(by: 1.5)
        Timer(label: "pool.wait", factory: registry).recordMilliseconds(1500)
        Recorder(label: "body_bytes", factory: registry).record(700)
        let text = registry.text()
        for line in [
            #"http_requests_total{path="/",status="200"} 3"#, "pool_size 4", "pool_level 0.5",
            #"pool_wait_seconds_bucket{le="2"} 1"#, "pool_wait_seconds_sum 1.5", #"body_bytes_bucket{le="1000"} 1"#,
            "prometheus_export_undeclared_total 0",
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
    }

    @Test func `an undeclared series is not exported, and is counted`() {
        Counter(label: "http.requests", dimensions: [("path", "/"), ("status", "404")], factory: registry).increment()
        Counter(label: "http.requests", dimensions: [("path", "/")], factory: registry).increment()
        Counter(label: "http.requests", dimensions: [("path", "/"), ("path", "/")], factory: registry).increment()
        Counter(label: "pool.size", factory: registry).increment()
        Gauge(label: "pool.wait.seconds", factory: registry).record(1)
        Recorder(label: "pool_size", factory: registry).record(1)
        Meter(label: "body_bytes", factory: registry).set(1)
        Timer(label: "päckchen", factory: registry).recordSeconds(1)
        #expect(registry.text().contains("prometheus_export_undeclared_total 8\n"))
        #expect(!registry.text().contains("404"))
    }

    @Test func `a series outlives the handle of a library`() {
        let labels = [("path", "/"), ("status", "500")]
        for _ in 0..<2 {
            let counter = Counter(label: "http.requests", dimensions: labels, factory: registry)
            counter.increment()
            counter.destroy()
        }
        #expect(registry.text().contains(#"http_requests_total{path="/",status="500"} 2"#))
    }
}
