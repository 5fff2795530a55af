// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// One side of a plot: where values lie, and which of them are named.
struct Axis: Hashable, Sendable {
    let scale: Scale
    let naming: Naming
    /// What the numbers are: `ms`, `per second`.
    let unit: String

    enum Naming: Hashable, Sendable {
        case numbers, time, percentiles
    }

    struct Tick: Hashable, Sendable {
        let value: Double
        let label: String
    }

    /// So many named values at most.
    func ticks(atMost most: Int) -> [Tick] {
        switch naming {
        case .numbers: named(numbers(most))
        case .time: Ticks.time(upTo: scale.upper, atMost: most).map { Tick(value: $0, label: time($0)) }
        case .percentiles: Self.tails.filter { $0 < scale.upper }.map { Tick(value: $0, label: $0.compact) }
        }
    }

    /// On a linear axis all with as many decimals, so that they stand below one another.
    private func named(_ values: [Double]) -> [Tick] {
        let step = values.count > 1 ? values[1] - values[0] : 0
        guard scale.kind == .linear, scale.upper < 10_000, step < 1, step >= 1e-6 else {
            return values.map { Tick(value: $0, label: $0.compact) }
        }
        let decimals = Int((-log10(step) - 1e-9).rounded(.up))
        return values.map { Tick(value: $0, label: $0 == 0 ? "0" : $0.grouped(decimals)) }
    }

    private func numbers(_ most: Int) -> [Double] {
        scale.kind == .logarithmic
            ? Ticks.logarithmic(scale.lower, scale.upper, atMost: most)
            : Ticks.linear(from: scale.lower, upTo: scale.upper, atMost: most)
    }

    private static let tails = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999]

    /// `45 s` in short runs, `12:30` in long ones, `3:00` of hours in very long ones.
    private func time(_ seconds: Double) -> String {
        let whole = Int(seconds)
        if scale.upper < 120 { return "\(whole) s" }
        let isHours = scale.upper >= 7200
        let (high, low) = isHours ? (whole / 3600, whole / 60 % 60) : (whole / 60, whole % 60)
        return "\(high):\(low < 10 ? "0" : "")\(low)"
    }
}

// MARK: - Axes that hold what they are to show

extension Axis {
    /// From the first request to the end of the run.
    static func time(until end: Double) -> Axis {
        Axis(
            scale: Scale(kind: .linear, lower: 0, upper: max(1, end)), naming: .time,
            unit: end < 120 ? "" : end < 7200 ? "minutes:seconds" : "hours:minutes")
    }

    /// From zero to a round number above all of them; below zero only if one of them is.
    static func amounts(_ values: some Sequence<Double>, unit: String) -> Axis {
        let finite = values.filter(\.isFinite)
        let highest = max(0, finite.max() ?? 0), lowest = min(0, finite.min() ?? 0)
        let step = highest > lowest ? Ticks.roundStep(atLeast: (highest - lowest) / 4) : 1
        let upper = (highest / step * (1 - 1e-9)).rounded(.up) * step
        let lower = (lowest / step * (1 - 1e-9)).rounded(.down) * step
        return Axis(
            scale: Scale(kind: .linear, lower: lower, upper: max(lower + step, upper)), naming: .numbers, unit: unit)
    }

    /// For latencies, which may lie far apart: with equal room for equal ratios, unless all are of one size.
    static func latencies(_ values: some Sequence<Double>) -> Axis {
        let positive = values.filter { $0.isFinite && $0 > 0 }
        guard let lowest = positive.min(), let highest = positive.max(), highest / lowest > 8 else {
            return amounts(positive, unit: "ms")
        }
        let upper = Ticks.roundStep(atLeast: highest)
        return Axis(
            scale: Scale(kind: .logarithmic, lower: max(Ticks.roundFloor(lowest), upper / 1e6), upper: upper),
            naming: .numbers, unit: "ms")
    }

    /// As far into the tail as so many requests tell of.
    static func percentiles(of count: Int) -> Axis {
        let nines = min(7, max(2, Int(log10(Double(max(1, count))).rounded(.up))))
        return Axis(
            scale: Scale(kind: .tail, lower: 0, upper: 100 - pow(10, 2 - Double(nines))), naming: .percentiles,
            unit: "percentile")
    }
}
