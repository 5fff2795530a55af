// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One look at the memory.
struct MemoryPoint: Encodable, Hashable, Sendable {
    /// Since the beginning.
    let seconds: Double
    let residentBytes: Int

    private enum CodingKeys: String, CodingKey {
        case seconds
        case residentBytes = "resident_bytes"
    }
}

/// Whether memory grows under a load that stays the same.
struct MemoryTrend: Encodable, Hashable, Sendable {
    let points: [MemoryPoint]
    /// The slope of the line that fits best through all looks but the first fifth, when pools still fill.
    let bytesPerMinute: Double
    /// The steepest slope that is called flat: a hundredth of the memory at that time, each minute.
    let thresholdBytesPerMinute: Double

    /// Whether memory does not grow.
    var isFlat: Bool { bytesPerMinute <= thresholdBytesPerMinute }

    private enum CodingKeys: String, CodingKey {
        case points
        case isFlat = "is_flat"
        case bytesPerMinute = "bytes_per_minute"
        case thresholdBytesPerMinute = "threshold_bytes_per_minute"
    }

    init(_ points: [MemoryPoint]) {
        self.points = points
        let settled = Array(points.dropFirst(points.count / 5))
        bytesPerMinute = (60 * Self.slope(of: settled)).rounded()
        thresholdBytesPerMinute = (Double(settled.first?.residentBytes ?? 0) / 100).rounded()
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(points, forKey: .points)
        try container.encode(isFlat, forKey: .isFlat)
        try container.encode(bytesPerMinute, forKey: .bytesPerMinute)
        try container.encode(thresholdBytesPerMinute, forKey: .thresholdBytesPerMinute)
    }

    /// Least squares, in bytes per second; 0 for fewer than two looks.
    private static func slope(of points: [MemoryPoint]) -> Double {
        let count = Double(max(1, points.count))
        let meanTime = points.map(\.seconds).reduce(0, +) / count
        let meanBytes = points.map { Double($0.residentBytes) }.reduce(0, +) / count
        let spread = points.map { ($0.seconds - meanTime) * ($0.seconds - meanTime) }.reduce(0, +)
        let common = points.map { ($0.seconds - meanTime) * (Double($0.residentBytes) - meanBytes) }.reduce(0, +)
        return spread > 0 ? common / spread : 0
    }
}
