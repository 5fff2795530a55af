// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What one entrant reached in each round, in receipts per second.
struct Rates: Hashable, Sendable {
    private(set) var slices: [Double]

    init(_ slices: [Double] = []) {
        self.slices = slices
    }

    mutating func append(_ rate: Double) {
        slices.append(rate)
    }

    /// The middle one, or the mean of the two in the middle: unmoved by turns that the machine spent on others.
    var median: Double {
        let sorted = slices.sorted()
        guard let last = sorted.indices.last else { return 0 }
        return (sorted[last / 2] + sorted[(last + 1) / 2]) / 2
    }

    /// How much faster this entrant was than another one: the median of the ratios within each round.
    ///
    /// A shared machine may be fast in some rounds and slow in others; the medians of two entrants can then stem from
    /// different ones, and their ratio from neither.
    func ratio(to other: Rates) -> Double {
        Rates(zip(slices, other.slices).map { $0 / $1 }).median
    }

    /// The slowest turn.
    var lowest: Double { slices.min() ?? 0 }

    /// The fastest turn.
    var highest: Double { slices.max() ?? 0 }
}
