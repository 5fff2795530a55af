// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

extension RunResult {
    /// One second of the run. Requests count when they are sent, answers and their latencies when they come.
    struct Second: Hashable, Sendable {
        /// From 0, in which the first request was due. Those before `warmup_seconds` are the warm-up.
        var second: Int
        /// Requests that were due; nil in a closed loop.
        var target: Double?
        var sent = 0
        var answered = 0
        var failed = 0
        var shed = 0
        /// Of the response; nil if no answer came.
        var p50, p90, p99, maximum: Double?
        /// Nil if nothing was sent.
        var sendLagP99: Double?
        var outcomes: [String: Int] = [:]
    }

    /// An event at a moment of the run.
    struct Mark: Codable, Hashable, Sendable {
        var atSeconds: Double
        var text: String

        private enum CodingKeys: String, CodingKey {
            case atSeconds = "at_seconds"
            case text
        }
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
        }
    }

    /// Two numbers, written as `[x, y]`.
    struct Point: Hashable, Sendable {
        var x, y: Double
    }

    /// A point in time, written as RFC 3339 in UTC: `2026-11-21T18:26:32Z`.
    struct Moment: Hashable, Sendable {
        let secondsSince1970: Int

        static var now: Moment { Moment(secondsSince1970: Int(Date().timeIntervalSince1970)) }
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

    /// Figures without a value are written as null, so that a reader finds every name.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        let counts: KeyValuePairs<CodingKeys, Int> = [
            .second: second, .sent: sent, .answered: answered, .failed: failed, .shed: shed,
        ]
        let figures: KeyValuePairs<CodingKeys, Double?> = [
            .target: target, .p50: p50, .p90: p90, .p99: p99, .maximum: maximum, .sendLagP99: sendLagP99,
        ]
        for (key, count) in counts { try container.encode(count, forKey: key) }
        for (key, figure) in figures { try container.encode(figure, forKey: key) }
        try container.encode(outcomes, forKey: .outcomes)
    }
}

extension RunResult.Point: Codable {
    init(from decoder: any Decoder) throws {
        let numbers = try [Double](from: decoder)
        guard numbers.count == 2 else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "a point has two numbers"))
        }
        self.init(x: numbers[0], y: numbers[1])
    }

    func encode(to encoder: any Encoder) throws { try [x, y].encode(to: encoder) }
}

extension RunResult.Moment: Codable, CustomStringConvertible {
    /// Reads the one form that is written.
    init(from decoder: any Decoder) throws {
        let text = try String(from: decoder), date = try? Date(text, strategy: .iso8601)
        self.init(secondsSince1970: Int(date?.timeIntervalSince1970 ?? 0))
        guard description == text else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "is no moment like 2026-11-21T18:26:32Z"))
        }
    }

    func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }

    var description: String { Date(timeIntervalSince1970: Double(secondsSince1970)).formatted(.iso8601) }
}
