// SPDX-License-Identifier: Apache-2.0

@testable import HTTPServer
@testable import Telemetry

extension PrometheusRegistry {
    /// Returns true if a scrape has this line, given without `receipt_gateway_`.
    func has(_ line: String) -> Bool { text().contains("\nreceipt_gateway_\(line)\n") }

    /// Returns the value of a series such as `store_commands_total{outcome="ok"}`; nil if a scrape does not have it.
    func value(of series: String) -> Double? {
        let start = "receipt_gateway_\(series) "
        return text().split(separator: "\n").first { $0.hasPrefix(start) }.flatMap { Double($0.dropFirst(start.count)) }
    }

    /// The requests that were counted, whatever their labels.
    var requestCount: UInt64 {
        AnswerLabels.allCases.reduce(0) { $0 + counter(MetricCatalogue.requests, $1.labelValues).value }
    }

    /// True if the catalogue declares all series that were counted.
    var isDeclared: Bool { text().contains("\nprometheus_export_undeclared_total 0\n") }
}
