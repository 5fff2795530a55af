// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How many calls to an upstream may be in flight: one more after a round of successes, a tenth less after each failure
/// (additive increase, multiplicative decrease).
public struct ConcurrencyLimit: Hashable, Sendable {
    /// Whether a call may begin.
    public enum Admission: Hashable, Sendable {
        /// It may. The slot is to be released exactly once, however the call ends: there is no lease on it.
        case acquired(Slot)
        /// As many as allowed are in flight.
        case refused
    }

    /// One call in flight.
    public struct Slot: Hashable, Sendable {
        /// Whether the limit mattered when the call began. Successes of an idle upstream say nothing about its limit.
        fileprivate let isLimitUsed: Bool
    }

    /// Between what and by how much the limit moves.
    public let policy: Policy
    /// How many calls are in flight. More than `limit` only while it has just been lowered.
    public private(set) var inFlight = 0
    /// The limit with the fractions that a round of successes adds up.
    private var exactLimit: Double
    /// Until the upstream first fails nobody knows what it bears, and each success adds one: a round doubles the limit.
    private var isStarting = true

    /// A limit that nobody uses yet.
    public init(_ policy: Policy = Policy()) {
        self.policy = policy
        exactLimit = Double(policy.initial)
    }

    /// How many calls may be in flight.
    public var limit: Int { Int(exactLimit) }

    /// Begins a call if there is room.
    public mutating func acquire() -> Admission {
        guard inFlight < limit else { return .refused }
        inFlight += 1
        return .acquired(Slot(isLimitUsed: inFlight * 2 >= limit))
    }

    /// Ends a call and learns from its outcome. An upstream that throttles is asked less, as after a failure.
    public mutating func release(_ slot: Slot, _ outcome: Outcome) {
        inFlight = max(0, inFlight - 1)
        switch outcome {
        case .success: if slot.isLimitUsed { move(to: exactLimit + (isStarting ? 1 : 1 / exactLimit)) }
        case .failure, .throttled:
            isStarting = false
            move(to: exactLimit * Double(policy.percentKeptAfterFailure) / 100)
        case .neutral: break
        }
    }

    private mutating func move(to newLimit: Double) {
        exactLimit = newLimit.clamped(to: Double(policy.minimum)...Double(policy.maximum))
    }
}

extension ConcurrencyLimit {
    /// Between what and by how much a limit moves.
    public struct Policy: Hashable, Sendable {
        /// The limit never falls below this, so that an upstream that recovers is noticed.
        public let minimum: Int
        /// The limit never rises above this.
        public let maximum: Int
        /// The limit to begin with.
        public let initial: Int
        /// How many percent of the limit are left after a failure.
        public let percentKeptAfterFailure: Int

        /// What lies outside `Limits`, or on the wrong side of another number, is taken for the nearest that does not.
        public init(minimum: Int = 4, maximum: Int = 200, initial: Int = 20, percentKeptAfterFailure: Int = 90) {
            self.minimum = minimum.clamped(to: Limits.calls)
            self.maximum = maximum.clamped(to: self.minimum...Limits.calls.upperBound)
            self.initial = initial.clamped(to: self.minimum...self.maximum)
            self.percentKeptAfterFailure = percentKeptAfterFailure.clamped(to: Limits.percent)
        }
    }

    /// What a policy may say.
    public enum Limits {
        /// Calls in flight.
        public static let calls = 1...10_000
        /// What is left after a failure.
        public static let percent = 1...100
    }
}
