// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

/// Metrics in the Prometheus text format, and what of them is kept.
struct MetricsTextTests {
    private static func read(_ text: String) throws(MetricsFault) -> [MetricsText.Sample] {
        try MetricsText(Array(text.utf8)).samples
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
        "a", "a x", "a 0x10", "a 1 2 3", "a 1 x", "a{b=\"c\"}1", "1a 1", "{a=\"b\"} 1", "<html>", "a{b} 1", "a{b=c} 1",
        "a{b=\"c} 1", "a{b=\"\\x\"} 1", "a{b=\"c\" d=\"e\"} 1", "a{", "a{b=\"c\",b=\"d\"} 1", "a{b:c=\"d\"} 1",
    ])
    func `what breaks the format is refused with its line`(line: String) {
        #expect(throws: MetricsFault(line: 2)) { try Self.read("ok 1\n" + line + "\n") }
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
