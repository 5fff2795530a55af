// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// One side of a plot: the positions of values, and the values that are labelled.
struct Axis: Hashable, Sendable {
    let scale: Scale
    let lower, upper: Double
    let unit: String

    enum Scale: Hashable, Sendable {
        case linear, time
        /// Equal ratios take equal room. The lower end is above zero.
        case logarithmic
        /// Percentiles, each nine as wide as the nine before: 90, 99, 99.9.
        case percentiles
    }

    typealias Tick = (value: Double, label: String)

    /// Returns 0 at the lower end, 1 at the upper; values beyond stay at the ends.
    func fraction(of value: Double) -> Double {
        let fraction = (measure(value) - measure(lower)) / (measure(upper) - measure(lower))
        return fraction.isFinite ? min(1, max(0, fraction)) : (value > lower ? 1 : 0)
    }

    private func measure(_ value: Double) -> Double {
        switch scale {
        case .linear, .time: value
        case .logarithmic: log10(max(value, lower))
        case .percentiles: -log10(1 - min(value, upper) / 100)
        }
    }

    /// Returns the labelled values, as a rule no more than this.
    func ticks(atMost most: Int) -> [Tick] {
        switch scale {
        case .linear: aligned(Ticks.linear(from: lower, upTo: upper, atMost: most))
        case .logarithmic: Ticks.logarithmic(lower, upper, atMost: most).map { ($0, $0.compact) }
        case .time: Ticks.time(upTo: upper, atMost: most).map { ($0, time($0)) }
        case .percentiles:
            [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999].filter { $0 < upper }.map { ($0, $0.compact) }
        }
    }

    /// Labels all values with the same number of decimals.
    private func aligned(_ values: [Double]) -> [Tick] {
        let step = values.count > 1 ? values[1] - values[0] : 0
        guard upper < 10_000, step < 1, step >= 1e-6 else { return values.map { ($0, $0.compact) } }
        let decimals = Int((-log10(step) - 1e-9).rounded(.up))
        return values.map { ($0, $0 == 0 ? "0" : $0.grouped(decimals)) }
    }

    /// `45 s` in short runs, `12:30` in minutes, `3:00` in hours from two hours on.
    private func time(_ seconds: Double) -> String {
        let whole = Int(seconds)
        if upper < 120 { return "\(whole) s" }
        let (high, low) = upper >= 7200 ? (whole / 3600, whole / 60 % 60) : (whole / 60, whole % 60)
        return "\(high):\(low < 10 ? "0" : "")\(low)"
    }
}

// MARK: - Axes for values

extension Axis {
    /// From the first request to the end of the run.
    static func time(until end: Double) -> Axis {
        let unit = end < 120 ? "" : end < 7200 ? "minutes:seconds" : "hours:minutes"
        return Axis(scale: .time, lower: 0, upper: max(1, end), unit: unit)
    }

    /// From zero to a round number above all values; below zero only if a value is.
    static func amounts(_ values: [Double], unit: String) -> Axis {
        let finite = values.filter(\.isFinite)
        let highest = max(0, finite.max() ?? 0), lowest = min(0, finite.min() ?? 0)
        let step = highest > lowest ? Ticks.roundedUp((highest - lowest) / 4) : 1
        let upper = (highest / step * (1 - 1e-9)).rounded(.up) * step
        let lower = (lowest / step * (1 - 1e-9)).rounded(.down) * step
        return Axis(scale: .linear, lower: lower, upper: max(lower + step, upper), unit: unit)
    }

    static func rates(_ values: [Double]) -> Axis { amounts(values, unit: "per second") }

    /// Logarithmic if latencies differ by more than a factor of 8, linear otherwise.
    static func latencies(_ values: [Double]) -> Axis {
        let positive = values.filter { $0.isFinite && $0 > 0 }
        guard let lowest = positive.min(), let highest = positive.max(), highest / lowest > 8 else {
            return amounts(positive, unit: "ms")
        }
        let upper = Ticks.roundedUp(highest)
        return Axis(scale: .logarithmic, lower: max(Ticks.roundedDown(lowest), upper / 1e6), upper: upper, unit: "ms")
    }

    /// As far into the tail as this many requests can show.
    static func percentiles(of count: Int) -> Axis {
        let nines = min(7, max(2, log10(Double(max(1, count))).rounded(.up)))
        return Axis(scale: .percentiles, lower: 0, upper: 100 - pow(10, 2 - nines), unit: "percentile")
    }
}

enum Ticks {
    static func linear(from lower: Double = 0, upTo upper: Double, atMost most: Int) -> [Double] {
        multiples(of: roundedUp((upper - lower) / Double(most)), from: lower, upTo: upper)
    }

    /// The smallest of 1, 2 and 5 times a power of ten that is not below.
    static func roundedUp(_ value: Double) -> Double {
        // The tolerance covers 0.3 / 3, which is a little more than 0.1.
        rounded(value) { factors, share in factors.first { $0 >= share * (1 - 1e-9) } }
    }

    /// The largest of 1, 2 and 5 times a power of ten that is not above.
    static func roundedDown(_ value: Double) -> Double {
        rounded(value) { factors, share in factors.last { $0 <= share * (1 + 1e-9) } }
    }

    private static func rounded(_ value: Double, _ choose: ([Double], Double) -> Double?) -> Double {
        guard value > 0, value.isFinite else { return 1 }
        let power = pow(10, floor(log10(value)))
        return (choose([1, 2, 5, 10], value / power) ?? 1) * power
    }

    /// Powers of ten; also 2 and 5 times them where there is room.
    static func logarithmic(_ lower: Double, _ upper: Double, atMost most: Int) -> [Double] {
        let first = Int(floor(log10(lower)))
        let decades = (first...max(first, Int(ceil(log10(upper))))).map { pow(10, Double($0)) }
        let isWithin = { (value: Double) in value >= lower * (1 - 1e-9) && value <= upper * (1 + 1e-9) }
        let fine = decades.flatMap { [$0, 2 * $0, 5 * $0] }.filter(isWithin)
        if fine.count <= most { return fine }
        let coarse = decades.filter(isWithin), every = max(1, (coarse.count + most - 1) / most)
        return stride(from: 0, to: coarse.count, by: every).map { coarse[$0] }
    }

    static func time(upTo end: Double, atMost most: Int) -> [Double] {
        let steps: [Double] = [
            1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10_800, 14_400, 21_600, 43_200,
        ]
        let day = 86_400.0
        let step = steps.first { end / $0 <= Double(most) } ?? (end / day / Double(most)).rounded(.up) * day
        return multiples(of: step, from: 0, upTo: end)
    }

    private static func multiples(of step: Double, from lower: Double, upTo upper: Double) -> [Double] {
        let first = Int((lower / step * (1 + 1e-9)).rounded(.up))
        let last = Int((upper / step * (1 + 1e-9)).rounded(.down))
        return (first...max(first, last)).map { Double($0) * step }
    }
}
