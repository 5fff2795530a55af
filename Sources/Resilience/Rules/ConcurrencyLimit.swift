// SPDX-License-Identifier: Apache-2.0

/// An adaptive limit of the calls in flight: one more after a round of successes, a tenth less after each failure
/// (additive increase, multiplicative decrease).
package struct ConcurrencyLimit: Hashable, Sendable {
    /// One call in flight. Release it exactly once, however the call ends: it has no lease.
    package struct Slot: Hashable, Sendable {
        /// True if the limit mattered when the call began. Successes of an idle upstream say nothing about its limit.
        fileprivate let isLimitUsed: Bool
    }

    package let policy: Policy
    /// The number of calls in flight. Above `limit` only while it has just been lowered.
    package private(set) var inFlight = 0
    /// The limit with the fractions that a round of successes adds up.
    private var exactLimit: Double
    /// True until the first failure: the capacity is unknown, so each success adds one, and a round doubles the limit.
    private var isStarting = true

    package init(_ policy: Policy = Policy()) {
        self.policy = policy
        exactLimit = Double(policy.initial)
    }

    package var limit: Int { Int(exactLimit) }

    package mutating func acquire() -> Slot? {
        guard inFlight < limit else { return nil }
        inFlight += 1
        return Slot(isLimitUsed: inFlight * 2 >= limit)
    }

    /// Ends a call and adapts the limit to its outcome. Throttling lowers it like a failure.
    package mutating func release(_ slot: Slot, _ outcome: Outcome) {
        inFlight = max(0, inFlight - 1)
        switch outcome {
        case .success: if slot.isLimitUsed { move(to: exactLimit + (isStarting ? 1 : 1 / exactLimit)) }
        case .failure, .throttled:
            isStarting = false
            move(to: exactLimit * 90 / 100)
        case .neutral: break
        }
    }

    private mutating func move(to newLimit: Double) {
        exactLimit = newLimit.clamped(to: Double(policy.minimum)...Double(policy.maximum))
    }

    package struct Policy: Hashable, Sendable {
        /// The lower bound, so that an upstream's recovery is noticed.
        package let minimum: Int
        package let maximum: Int
        package let initial: Int

        /// Creates a policy; values outside `Limits`, or on the wrong side of another value, are clamped.
        package init(minimum: Int = 4, maximum: Int = 200, initial: Int = 20) {
            self.minimum = minimum.clamped(to: Limits.calls)
            self.maximum = maximum.clamped(to: self.minimum...Limits.calls.upperBound)
            self.initial = initial.clamped(to: self.minimum...self.maximum)
        }
    }

    package enum Limits {
        package static let calls = 1...10_000
    }
}
