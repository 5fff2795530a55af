// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ReceiptForge

/// The time until an answer, in seconds.
enum Latency: Hashable, Sendable {
    /// A constant time.
    case fixed(Double)
    /// A uniform distribution between two bounds.
    case uniform(from: Double, to: Double)
    /// A distribution like that of a busy server: most answers near the median, a long tail up to `cap`. `sigma` is the
    /// standard deviation of the logarithm: at 0.8 one answer in a hundred takes six times the median.
    case lognormal(median: Double, sigma: Double, cap: Double)

    func draw(using generator: inout SplitMix64) -> Duration {
        switch self {
        case .fixed(let seconds): .seconds(seconds)
        case .uniform(let from, let to): .seconds(from + (to - from) * generator.fraction())
        case .lognormal(let median, let sigma, let cap): .seconds(min(cap, median * exp(sigma * generator.normal())))
        }
    }
}

extension SplitMix64 {
    /// Returns a number from 0 up to, not including, 1.
    mutating func fraction() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// Returns a number of the standard normal distribution (Box and Muller, 1958).
    fileprivate mutating func normal() -> Double {
        (-2 * log(1 - fraction())).squareRoot() * cos(2 * .pi * fraction())
    }
}
