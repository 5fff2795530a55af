// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Histogram

/// Many latencies, each right to a thousandth and from 64 ns on, in as much room as a few.
struct Latencies: Sendable {
    /// In nanoseconds.
    private(set) var histogram = Histogram<UInt32>(
        lowestDiscernibleValue: 100, highestTrackableValue: longest, numberOfSignificantValueDigits: .three)

    /// An hour; what is longer counts as that.
    private static let longest: UInt64 = 3_600_000_000_000

    /// How many there are.
    var count: Int { Int(histogram.totalCount) }

    /// In nanoseconds; less than none counts as none.
    mutating func record(_ nanoseconds: Int64) {
        histogram.record(min(UInt64(max(0, nanoseconds)), Self.longest))
    }

    mutating func merge(_ other: Latencies) {
        guard other.count > 0 else { return }
        histogram.add(other.histogram)
    }

    mutating func removeAll() {
        guard count > 0 else { return }
        histogram.reset()
    }

    /// In milliseconds; nil if nothing was recorded.
    func milliseconds(atPercentile percentile: Double) -> Double? {
        count > 0 ? Double(histogram.valueAtPercentile(percentile)) / 1e6 : nil
    }

    /// The mean in milliseconds.
    var mean: Double? { count > 0 ? histogram.mean / 1e6 : nil }
    /// The shortest in milliseconds.
    var shortest: Double? { count > 0 ? Double(histogram.min) / 1e6 : nil }
    /// The longest in milliseconds.
    var longest: Double? { milliseconds(atPercentile: 100) }
}
