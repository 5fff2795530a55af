// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RunResult.Distribution {
    /// What a result says of latencies.
    init(_ latencies: Latencies) {
        self.init()
        count = latencies.count
        guard count > 0 else { return }
        func at(_ percentile: Double) -> Double? {
            latencies.milliseconds(atPercentile: percentile)?.rounded(toDecimals: 4)
        }
        mean = latencies.mean?.rounded(toDecimals: 4)
        minimum = latencies.shortest?.rounded(toDecimals: 4)
        maximum = at(100)
        p50 = at(50)
        p75 = at(75)
        p90 = at(90)
        p95 = at(95)
        p99 = at(99)
        p99_9 = at(99.9)
        p99_99 = at(99.99)
        percentiles = Self.ladder(count).map { RunResult.Point(x: $0, y: at($0) ?? 0) }
    }

    /// Percentiles that each halve what is left in five steps, as long as something is left of so many.
    static func ladder(_ count: Int) -> [Double] {
        let steps = (0...Self.lastStep).map { 100 * (1 - pow(0.5, Double($0) / 5)) }
        return steps.filter { (100 - $0) / 100 * Double(count) >= 1 }.map { $0.rounded(toDecimals: 6) }
    }

    /// At 99.9992 %.
    private static let lastStep = 85
}
