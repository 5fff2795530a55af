// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RunResult {
    /// Requests that were due after the warm-up, by their ends.
    ///
    /// `sent` = `answered` + `failed` + `shed` + `unanswered`.
    struct Totals: Codable, Hashable, Sendable {
        /// Requests that were due.
        var intended: Int
        var sent: Int
        /// Answers about the receipt.
        var answered: Int
        /// Answers that are errors, and connections that broke.
        var failed: Int
        /// Requests that the server rejected because of its load (HTTP 429).
        var shed: Int
        /// Requests without an answer at their timeout or at the end of the run.
        var unanswered: Int
        /// The average of requests due per second; nil in a closed loop.
        var targetPerSecond: Double?
        var achievedPerSecond: Double
        var sentBytes, receivedBytes: Int

        private enum CodingKeys: String, CodingKey {
            case intended, sent, answered, failed, shed, unanswered
            case targetPerSecond = "target_per_second"
            case achievedPerSecond = "achieved_per_second"
            case sentBytes = "sent_bytes"
            case receivedBytes = "received_bytes"
        }
    }

    struct Outcome: Codable, Hashable, Sendable {
        /// Such as `hit_near`, `local`, `shed` or `error`.
        var outcome: String
        var count: Int
        var response: Distribution
    }

    struct Threshold: Codable, Hashable, Sendable {
        /// As it was given: `p99<25ms`.
        var expression: String
        /// Nil if there was nothing to measure.
        var measured: Double?
        /// Of `measured`: `ms`, `%`, `/s`, or empty.
        var unit: String
        var met: Bool
    }

    /// A distribution of times in milliseconds; the figures are nil if there were none.
    struct Distribution: Hashable, Sendable {
        var count = 0
        var mean, minimum, maximum: Double?
        var p50, p75, p90, p95, p99, p99_9, p99_99: Double?
        /// (percentile, milliseconds), both rising, as far into the tail as there are enough requests.
        var percentiles: [Point] = []
    }
}

extension RunResult.Distribution: Codable {
    enum CodingKeys: String, CodingKey {
        case count, percentiles
        case mean = "mean_ms"
        case minimum = "min_ms"
        case maximum = "max_ms"
        case p50 = "p50_ms"
        case p75 = "p75_ms"
        case p90 = "p90_ms"
        case p95 = "p95_ms"
        case p99 = "p99_ms"
        case p99_9 = "p99_9_ms"
        case p99_99 = "p99_99_ms"
    }

    typealias Figure = (key: CodingKeys, words: String, path: any KeyPath<RunResult.Distribution, Double?> & Sendable)

    /// The figures with their names for readers.
    static let figures: [Figure] = [
        (.minimum, "fastest", \.minimum), (.mean, "mean", \.mean), (.p50, "p50", \.p50), (.p75, "p75", \.p75),
        (.p90, "p90", \.p90), (.p95, "p95", \.p95), (.p99, "p99", \.p99), (.p99_9, "p99.9", \.p99_9),
        (.p99_99, "p99.99", \.p99_99), (.maximum, "slowest", \.maximum),
    ]

    /// Figures without a value are written as null, so that a reader finds every name.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(count, forKey: .count)
        for figure in Self.figures { try container.encode(self[keyPath: figure.path], forKey: figure.key) }
        try container.encode(percentiles, forKey: .percentiles)
    }
}
