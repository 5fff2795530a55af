// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RunResult {
    /// What happened in one second of the run.
    ///
    /// Requests count in the second they were sent in, answers and their latencies in the second they came in.
    struct Second: Hashable, Sendable {
        /// From 0, in which the first request was due. Those before `warmup_seconds` are the warm-up.
        var second: Int
        /// Requests that were due; nil in a closed loop.
        var target: Double?
        var sent = 0
        var answered = 0
        var failed = 0
        var shed = 0
        /// Of the response, like the next three; nil if no answer came.
        var p50: Double?
        var p90: Double?
        var p99: Double?
        var maximum: Double?
        /// Nil if nothing was sent.
        var sendLagP99: Double?
        var outcomes: [String: Int] = [:]
    }

    /// A metric of the server, with one set of labels.
    struct Series: Codable, Hashable, Sendable {
        var name: String
        var labels: [String: String] = [:]
        var kind: Kind
        var unit: String?
        /// (second, value) in the order of time, as scraped: a counter's value is the count so far.
        var points: [Point]

        enum Kind: String, Codable, Sendable {
            case counter, gauge
            /// A quantile of what a histogram counted between two looks.
            case histogramQuantile = "histogram_quantile"
        }
    }
}

extension RunResult.Second: Codable {
    private enum CodingKeys: String, CodingKey {
        case second, target, sent, answered, failed, shed, outcomes
        case p50 = "p50_ms"
        case p90 = "p90_ms"
        case p99 = "p99_ms"
        case maximum = "max_ms"
        case sendLagP99 = "send_lag_p99_ms"
    }

    /// Figures that nobody measured are written as null, so that a reader finds every name.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(second, forKey: .second)
        try container.encode(target, forKey: .target)
        try container.encode(sent, forKey: .sent)
        try container.encode(answered, forKey: .answered)
        try container.encode(failed, forKey: .failed)
        try container.encode(shed, forKey: .shed)
        try container.encode(p50, forKey: .p50)
        try container.encode(p90, forKey: .p90)
        try container.encode(p99, forKey: .p99)
        try container.encode(maximum, forKey: .maximum)
        try container.encode(sendLagP99, forKey: .sendLagP99)
        try container.encode(outcomes, forKey: .outcomes)
    }
}
