// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RunResult {
    /// How long something took, in milliseconds; the figures are nil if it never happened.
    struct Distribution: Hashable, Sendable {
        var count = 0
        var mean: Double?
        var minimum: Double?
        var maximum: Double?
        var p50: Double?
        var p75: Double?
        var p90: Double?
        var p95: Double?
        var p99: Double?
        var p99_9: Double?
        var p99_99: Double?
        /// (percentile, milliseconds), both rising: as far into the tail as there were enough of them.
        var percentiles: [Point] = []
    }

    /// Two numbers that are written `[x, y]`.
    struct Point: Hashable, Sendable {
        var x: Double
        var y: Double
    }
}

extension RunResult.Distribution: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
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

    /// Figures that nobody measured are written as null, so that a reader finds every name.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(count, forKey: .count)
        try container.encode(mean, forKey: .mean)
        try container.encode(minimum, forKey: .minimum)
        try container.encode(maximum, forKey: .maximum)
        try container.encode(p50, forKey: .p50)
        try container.encode(p75, forKey: .p75)
        try container.encode(p90, forKey: .p90)
        try container.encode(p95, forKey: .p95)
        try container.encode(p99, forKey: .p99)
        try container.encode(p99_9, forKey: .p99_9)
        try container.encode(p99_99, forKey: .p99_99)
        try container.encode(percentiles, forKey: .percentiles)
    }
}

extension RunResult.Point: Codable {
    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        x = try container.decode(Double.self)
        y = try container.decode(Double.self)
        guard container.isAtEnd else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a point has two numbers")
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(x)
        try container.encode(y)
    }
}
