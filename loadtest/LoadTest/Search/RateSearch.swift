// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Finds the highest rate that passes, by doubling until one fails and halving the gap then; below the first rate, if that
/// fails. A rate is tried once.
struct RateSearch: Hashable, Sendable {
    /// The gap at which it is enough, as a share of the highest rate that passed.
    let precision: Double
    /// No rate above it is tried.
    let maximumRate: Double
    /// So many rates are tried at most.
    let maximumSteps: Int

    /// The highest that passed.
    private(set) var passed: Double?
    /// The lowest that failed.
    private(set) var failed: Double?
    private(set) var steps = 0
    private let first: Double

    init(from first: Double, to maximumRate: Double, precision: Double, maximumSteps: Int) {
        self.first = min(first, maximumRate)
        self.maximumRate = maximumRate
        self.precision = precision
        self.maximumSteps = maximumSteps
    }

    /// The next rate to try; nil once it is known well enough, or no more may be tried.
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

    /// The gap at which it is enough; rates are whole numbers.
    private var gap: Double { max(1, precision * (passed ?? 0)) }

    /// How many more rates will be tried, about; nil as long as none has failed.
    var remainingSteps: Int? {
        guard let passed, let failed else { return nil }
        var rest = failed - passed, steps = 0
        while rest > gap, steps + self.steps < maximumSteps { (rest, steps) = (rest / 2, steps + 1) }
        return steps
    }

    /// A rate was tried.
    mutating func tried(_ rate: Double, passed hasPassed: Bool) {
        steps += 1
        if hasPassed { passed = max(rate, passed ?? rate) } else { failed = min(rate, failed ?? rate) }
    }

    /// One request in a second: what fails that fails.
    private static let minimumRate = 1.0
}
