// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Telemetry

struct TextFormatTests {
    /// Returns the text without the family that is part of every registry.
    private static func text(_ families: [MetricFamily], _ count: (PrometheusRegistry) -> Void = { _ in }) throws
        -> String
    {
        let registry = try PrometheusRegistry(families)
        count(registry)
        return registry.text().split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.contains(PrometheusRegistry.undeclared.name) }.joined(separator: "\n")
    }

    @Test func `every declared series exists from the start, at 0`() throws {
        let text = try Self.text([
            MetricFamily("b_total", .counter, "B.", labelNames: ["x", "y"], labelSets: [["2", "a"], ["1", "b"]]),
            MetricFamily("a", .gauge, "A."),
            MetricFamily("c_seconds", .histogram(buckets: [0.005, 1]), "C.", labelNames: ["x"], labelSets: [["1"]]),
        ])
        #expect(
            text == """
                # HELP a A.
                # TYPE a gauge
                a 0
                # HELP b_total B.
                # TYPE b_total counter
                b_total{x="2",y="a"} 0
                b_total{x="1",y="b"} 0
                # HELP c_seconds C.
                # TYPE c_seconds histogram
                c_seconds_bucket{x="1",le="0.005"} 0
                c_seconds_bucket{x="1",le="1"} 0
                c_seconds_bucket{x="1",le="+Inf"} 0
                c_seconds_sum{x="1"} 0
                c_seconds_count{x="1"} 0

                """)
    }

    @Test func `a series that is not preset appears with its first event, and stays`() throws {
        let counter = MetricFamily(
            "a_total", .counter, "A.", labelNames: ["x"], labelSets: [["1"], ["2"]], presetLabelSets: [["1"]])
        let histogram = MetricFamily(
            "b", .histogram(buckets: [1]), "B.", labelNames: ["x"], labelSets: [["1"]], presetLabelSets: [])
        let registry = try PrometheusRegistry([counter, histogram])
        let lines = {
            registry.text().split(separator: "\n").filter { !$0.hasPrefix("#") && !$0.hasPrefix("prometheus_") }
        }
        #expect(lines() == [#"a_total{x="1"} 0"#])
        registry.counter(counter, ["2"]).increment()
        registry.histogram(histogram, ["1"]).record(7.0)
        let all = [
            #"a_total{x="1"} 0"#, #"a_total{x="2"} 1"#, #"b_bucket{x="1",le="1"} 0"#, #"b_bucket{x="1",le="+Inf"} 1"#,
            #"b_sum{x="1"} 7"#, #"b_count{x="1"} 1"#,
        ]
        #expect(lines() == all.map { $0[...] })
        #expect(lines().count == 6)
    }

    @Test func `the order does not depend on the order of declaration`() throws {
        let families = ["c", "a", "b"].map { MetricFamily($0, .gauge, "Help.") }
        #expect(try Self.text(families) == Self.text(families.reversed()))
    }

    @Test func `values and help are escaped, each by its own rule`() throws {
        let family = MetricFamily(
            "a", .gauge, "A \"b\" \\ c\nd.", labelNames: ["x"], labelSets: [["A \"b\" \\ c\nd\r\n"]])
        #expect(
            try Self.text([family]) == """
                # HELP a A "b" \\\\ c\\nd.
                # TYPE a gauge
                a{x="A \\"b\\" \\\\ c\\nd\r\\n"} 0

                """)
    }

    @Test func `a value on a bound belongs to its bucket, and buckets add up`() throws {
        let family = MetricFamily("a_seconds", .histogram(buckets: [-1, 0.5, 1]), "A.")
        let text = try Self.text([family]) { registry in
            let histogram = registry.histogram(family)
            for value in [-2, -1, 0.25, 0.5, 0.75, 1, 1.5] { histogram.record(value) }
        }
        for line in [#"{le="-1"} 2"#, #"{le="0.5"} 4"#, #"{le="1"} 6"#, #"{le="+Inf"} 7"#] {
            #expect(text.contains("a_seconds_bucket\(line)\n"))
        }
        #expect(text.contains("a_seconds_sum 1\n") && text.contains("a_seconds_count 7\n"))
    }

    @Test(arguments: [
        (0, "0"), (-0.0, "0"), (-3, "-3"), (0.005, "0.005"), (1e-9, "1e-09"),
        (9_007_199_254_740_992, "9007199254740992"),
        (1e300, "1e+300"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
    ])
    func `numbers are written as Prometheus reads them`(value: Double, text: String) {
        #expect(value.metricText == text)
    }
}
