// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Where between the ends of an axis a value lies.
struct Scale: Hashable, Sendable {
    let kind: Kind
    let lower: Double
    let upper: Double

    enum Kind: Hashable, Sendable {
        case linear
        /// Equal ratios take equal room. The lower end is above zero.
        case logarithmic
        /// Percentiles, each nine as wide as the one before: 90, 99, 99.9.
        case tail
    }

    /// From 0 at the lower end to 1 at the upper; what lies beyond stays at the ends.
    func fraction(of value: Double) -> Double {
        let fraction = (measure(value) - measure(lower)) / (measure(upper) - measure(lower))
        return fraction.isFinite ? min(1, max(0, fraction)) : (value > lower ? 1 : 0)
    }

    private func measure(_ value: Double) -> Double {
        switch kind {
        case .linear: value
        case .logarithmic: log10(max(value, lower))
        case .tail: -log10(1 - min(value, upper) / 100)
        }
    }
}
