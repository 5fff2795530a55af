// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// The tokens that a fleet spent, compared with a limit in every window.
struct SpendingLedger: Hashable, Sendable {
    private let capacity: Double
    /// Tokens per second.
    private let rate: Double
    private var level = 0.0
    private var last: Instant?
    /// The tokens that were spent.
    private(set) var spent = 0
    /// The most tokens that any window spent beyond the tokens that arrived in it. A limit allows its capacity.
    private(set) var worstBurst = 0.0

    init(_ policy: TokenBucket.Policy) {
        capacity = Double(policy.capacity)
        rate = 1 / policy.emissionInterval.seconds
    }

    /// Records tokens. Times do not go back.
    mutating func record(_ tokens: Int, at now: Instant) {
        // The worst window that ends here extends the worst window that ended at the last record, or begins here.
        let passed = (last ?? now).duration(to: now).seconds
        level = max(0, level - rate * passed) + Double(tokens)
        (last, spent, worstBurst) = (now, spent + tokens, max(worstBurst, level))
    }

    /// The worst burst as a share of the capacity; above 1 the limit was exceeded.
    var worstShare: Double { worstBurst / capacity }

    /// Returns the tokens that the limit allows in so many seconds.
    func allowed(in seconds: Double) -> Double { capacity + rate * seconds }
}
