// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Latencies in buckets that grow by 2 %, so that millions take no more room than one.
struct LatencyHistogram: Hashable, Sendable {
    /// How many latencies were recorded.
    private(set) var count = 0
    /// The longest; zero if there was none.
    private(set) var slowest = Duration.zero
    private var buckets = [Int](repeating: 0, count: bucketCount)

    /// From a microsecond to a quarter of an hour.
    private static let bucketCount = 1050
    private static let growth = 1.02

    mutating func record(_ latency: Duration) {
        count += 1
        slowest = max(slowest, latency)
        buckets[Self.bucket(of: latency)] += 1
    }

    /// Adds what another one recorded.
    mutating func merge(_ other: LatencyHistogram) {
        count += other.count
        slowest = max(slowest, other.slowest)
        for index in buckets.indices { buckets[index] += other.buckets[index] }
    }

    /// The latency that this share of all stays below or meets, 2 % too long at most; nil if nothing was recorded.
    func percentile(_ percent: Double) -> Duration? {
        guard count > 0 else { return nil }
        let rank = max(1, Int((percent / 100 * Double(count)).rounded(.up)))
        var seen = 0
        for (index, number) in buckets.enumerated() {
            seen += number
            if seen >= rank { return min(slowest, Self.upperBound(of: index)) }
        }
        return slowest
    }

    private static func bucket(of latency: Duration) -> Int {
        let microseconds = max(1, latency / .microseconds(1))
        return min(bucketCount - 1, Int((log(microseconds) / log(growth)).rounded(.up)))
    }

    private static func upperBound(of bucket: Int) -> Duration {
        .microseconds(pow(growth, Double(bucket)))
    }
}

extension Duration {
    /// As a number of milliseconds.
    var milliseconds: Double { self / .milliseconds(1) }
}
