// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A search for the highest rate that passes: it doubles the rate until one fails, then halves the gap; if the first
/// rate fails, it halves that. No rate is tried twice.
struct RateSearch: Hashable, Sendable {
    /// The gap at which the search ends, as a share of the highest rate that passed.
    let precision: Double
    let maximumRate: Double
    let maximumSteps: Int

    /// The highest rate that passed, and the lowest that failed.
    private(set) var passed: Double?
    private(set) var failed: Double?
    private(set) var steps = 0
    private let first: Double

    init(from first: Double, to maximumRate: Double, precision: Double, maximumSteps: Int) {
        self.first = min(first, maximumRate)
        self.maximumRate = maximumRate
        self.precision = precision
        self.maximumSteps = maximumSteps
    }

    /// The next rate; nil if the search is over.
    var next: Double? {
        guard steps < maximumSteps else { return nil }
        switch (passed, failed) {
        case (nil, nil): return first
        case (let passed?, nil): return passed < maximumRate ? min(2 * passed, maximumRate) : nil
        case (nil, let failed?): return failed > Self.minimumRate ? max(Self.minimumRate, (failed / 2).rounded()) : nil
        case (let passed?, let failed?):
            return failed - passed > gap ? ((passed + failed) / 2).rounded() : nil
        }
    }

    /// The gap at which the search ends; rates are whole numbers.
    private var gap: Double { max(1, precision * (passed ?? 0)) }

    /// The approximate number of rates left; nil before a rate has failed.
    var remainingSteps: Int? {
        guard let passed, let failed else { return nil }
        var rest = failed - passed, steps = 0
        while rest > gap, steps + self.steps < maximumSteps { (rest, steps) = (rest / 2, steps + 1) }
        return steps
    }

    mutating func tried(_ rate: Double, passed hasPassed: Bool) {
        steps += 1
        if hasPassed { passed = max(rate, passed ?? rate) } else { failed = min(rate, failed ?? rate) }
    }

    /// The lowest rate, in requests per second.
    private static let minimumRate = 1.0
}
