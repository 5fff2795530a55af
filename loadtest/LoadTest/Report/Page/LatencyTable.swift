// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Response beside service, percentile by percentile.
struct LatencyTable: Sendable {
    private let result: RunResult

    init(_ result: RunResult) {
        self.result = result
    }

    var markup: Markup {
        let rows = RunResult.Distribution.figures.map { figure -> [Markup] in
            [
                .text(figure.words),
                .value("response.\(figure.key)", figure.of(result.response), result.response.decimals),
                .value("service.\(figure.key)", figure.of(result.service), result.service.decimals),
            ]
        }
        let counts: [Markup] = [
            "answers", .count("response.count", result.response.count), .count("service.count", result.service.count),
        ]
        return DataTable(columns: [.word("ms"), "response", "service"], rows: rows + [counts]).markup
    }
}

extension RunResult.Distribution {
    /// A figure with its name in the result and its name on a page.
    struct Figure: Sendable {
        let key: String
        let words: String
        let of: @Sendable (RunResult.Distribution) -> Double?
    }

    /// How many decimals its figures are shown with, one below the other.
    var decimals: Int { max(1, (p50 ?? 0).usefulDecimals) }

    static let figures = [
        Figure(key: "min_ms", words: "fastest") { $0.minimum }, Figure(key: "mean_ms", words: "mean") { $0.mean },
        Figure(key: "p50_ms", words: "p50") { $0.p50 }, Figure(key: "p75_ms", words: "p75") { $0.p75 },
        Figure(key: "p90_ms", words: "p90") { $0.p90 }, Figure(key: "p95_ms", words: "p95") { $0.p95 },
        Figure(key: "p99_ms", words: "p99") { $0.p99 }, Figure(key: "p99_9_ms", words: "p99.9") { $0.p99_9 },
        Figure(key: "p99_99_ms", words: "p99.99") { $0.p99_99 }, Figure(key: "max_ms", words: "slowest") { $0.maximum },
    ]
}

extension Markup {
    /// A number of a column whose points stand below one another.
    static func value(_ path: String, _ number: Double?, _ decimals: Int) -> Markup {
        .value(path, number, number?.grouped(decimals) ?? "–")
    }
}
