// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Round numbers along an axis.
enum Ticks {
    /// Multiples of 1, 2 or 5 times a power of ten.
    static func linear(from lower: Double = 0, upTo upper: Double, atMost most: Int) -> [Double] {
        let step = roundStep(atLeast: (upper - lower) / Double(most))
        return multiples(of: step, from: lower, upTo: upper)
    }

    /// The smallest of 1, 2 and 5 times a power of ten that is not below.
    static func roundStep(atLeast least: Double) -> Double {
        guard least > 0, least.isFinite else { return 1 }
        let power = pow(10, floor(log10(least)))
        // A hair of tolerance: 0.3 / 3 is a little more than 0.1.
        let factor = [1.0, 2, 5, 10].first { $0 * power >= least * (1 - 1e-9) } ?? 10
        return factor * power
    }

    /// The largest of 1, 2 and 5 times a power of ten that is not above.
    static func roundFloor(_ value: Double) -> Double {
        guard value > 0, value.isFinite else { return 1 }
        let power = pow(10, floor(log10(value)))
        let factor = [5.0, 2, 1].first { $0 * power <= value * (1 + 1e-9) } ?? 1
        return factor * power
    }

    /// Powers of ten; with 2 and 5 times them where there is room.
    static func logarithmic(_ lower: Double, _ upper: Double, atMost most: Int) -> [Double] {
        let powers = Int(floor(log10(lower)))...max(Int(floor(log10(lower))), Int(ceil(log10(upper))))
        let all = powers.flatMap { power in [1.0, 2, 5].map { $0 * pow(10, Double(power)) } }
        let fine = all.filter { within($0, lower, upper) }
        if fine.count <= most { return fine }
        let decades = powers.map { pow(10, Double($0)) }.filter { within($0, lower, upper) }
        let every = max(1, (decades.count + most - 1) / most)
        return decades.enumerated().filter { $0.offset % every == 0 }.map(\.element)
    }

    /// Whole seconds, minutes or hours.
    static func time(upTo end: Double, atMost most: Int) -> [Double] {
        let steps: [Double] = [
            1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10_800, 14_400, 21_600, 43_200,
        ]
        let day = 86_400.0
        let step = steps.first { end / $0 <= Double(most) } ?? (end / day / Double(most)).rounded(.up) * day
        return multiples(of: step, upTo: end)
    }

    private static func multiples(of step: Double, from lower: Double = 0, upTo upper: Double) -> [Double] {
        let first = Int((lower / step * (1 + 1e-9)).rounded(.up)),
            last = Int((upper / step * (1 + 1e-9)).rounded(.down))
        return (first...max(first, last)).map { Double($0) * step }
    }

    private static func within(_ value: Double, _ lower: Double, _ upper: Double) -> Bool {
        value >= lower * (1 - 1e-9) && value <= upper * (1 + 1e-9)
    }
}
