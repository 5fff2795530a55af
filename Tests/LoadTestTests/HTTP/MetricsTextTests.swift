// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

/// Metrics in the Prometheus text format, and what of them is kept.
struct MetricsTextTests {
    private static func read(
        _ text: String, _ limits: MetricsLimits = MetricsLimits()
    ) throws(MetricsFault) -> [MetricsText.Sample] {
        try MetricsText(Array(text.utf8), limits: limits).samples
    }

    @Test func `samples are read with their labels`() throws {
        let samples = try Self.read(
            """
            # HELP a_total What "a" counts.
            # TYPE a_total counter
            a_total{code="200",path="/a,b{c}",text="q\\"u\\\\o\\nte"} 5
            a_total { code = "400" , } 1.5e3 1700000000000

            b +Inf
            c:d NaN
            """)
        #expect(samples.count == 4)
        #expect(
            samples[0].labels == ["code": "200", "path": "/a,b{c}", "text": "q\"u\\o\nte"] && samples[0].value == 5)
        #expect(samples[1] == MetricsText.Sample(name: "a_total", labels: ["code": "400"], value: 1500))
        #expect(samples[2].value == .infinity && samples[3].name == "c:d" && samples[3].value.isNaN)
    }

    @Test(arguments: [
        ("a", MetricsFault.Rule.malformedValue), ("a x", .malformedValue), ("a 0x10", .malformedValue),
        ("a 1 2 3", .malformedValue), ("a 1 x", .malformedValue), ("a{b=\"c\"}1", .malformedValue),
        ("1a 1", .malformedName), ("{a=\"b\"} 1", .malformedName), ("<html>", .malformedName),
        ("a{b} 1", .malformedLabels), ("a{b=c} 1", .malformedLabels), ("a{b=\"c} 1", .malformedLabels),
        ("a{b=\"\\x\"} 1", .malformedLabels), ("a{b=\"c\" d=\"e\"} 1", .malformedLabels), ("a{", .malformedName),
        ("a{b=\"c\",b=\"d\"} 1", .repeatedLabel),
    ])
    func `what breaks the format is refused with its line`(line: String, rule: MetricsFault.Rule) {
        #expect(throws: MetricsFault(line: 2, rule: rule)) { try Self.read("ok 1\n" + line + "\n") }
    }

    @Test func `nothing is read beyond its limit`() throws {
        let limits = MetricsLimits(bytes: 40, lineBytes: 20, samples: 2, labels: 1)
        #expect(try Self.read("a{b=\"c\"} 1\na 2\n", limits).count == 2)
        #expect(throws: MetricsFault(line: 0, rule: .tooLarge)) {
            try Self.read(String(repeating: "a 1\n", count: 11), limits)
        }
        #expect(throws: MetricsFault(line: 1, rule: .tooLarge)) { try Self.read("a 1                  ", limits) }
        #expect(throws: MetricsFault(line: 3, rule: .tooMany)) { try Self.read("a 1\na 1\na 1\n", limits) }
        #expect(throws: MetricsFault(line: 1, rule: .tooMany)) { try Self.read("a{b=\"\",c=\"\"} 1", limits) }
    }

    @Test func `what matters is summed over what does not, and kept over time`() throws {
        var collection = SeriesCollection()
        for second in 0..<3 {
            let text = """
                receipt_gateway_http_requests_total{route="/v1/verify",code="200"} \(second * 10)
                receipt_gateway_http_requests_total{route="other",code="200"} 1
                receipt_gateway_http_requests_total{route="other",code="500"} 0
                process_resident_memory_bytes 1e6
                unknown_total 5
                """
            collection.add(try MetricsText(Array(text.utf8)), second: Double(second), instance: nil)
        }
        let series = collection.series
        #expect(series.map(\.name) == ["receipt_gateway_http_requests_total", "process_resident_memory_bytes"])
        #expect(series[0].labels == ["code": "200"] && series[0].kind == .counter)
        #expect(series[0].points.map(\.y) == [1, 11, 21] && series[0].points.map(\.x) == [0, 1, 2])
        #expect(series[1].unit == "bytes")
    }
}
