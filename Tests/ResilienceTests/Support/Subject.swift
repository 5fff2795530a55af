// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing
import TestSupport

@testable import Resilience

/// A breaker with its clock and its source of randomness.
final class Subject {
    var breaker: CircuitBreaker
    var now = at(.zero)
    var generator: SplitMix64

    init(_ policy: CircuitBreaker.Policy = .init(), mode: CircuitBreaker.Mode = .auto, seed: UInt64 = 0) {
        breaker = CircuitBreaker(policy, mode: mode)
        generator = SplitMix64(seed: TestSeed.number(seed))
    }

    /// Nil if the call is rejected.
    func permit() -> CircuitBreaker.Permit? {
        if case .call(let permit) = breaker.permit(at: now) { permit } else { nil }
    }

    func record(_ outcome: Outcome, of permit: CircuitBreaker.Permit) {
        breaker.record(outcome, of: permit, at: now, using: &generator)
    }

    /// Makes one call that begins and ends now, if the breaker permits it.
    func call(_ outcome: Outcome) {
        if let permit = permit() { record(outcome, of: permit) }
    }

    /// Trips a closed breaker and returns the time of its first probes.
    func trip() throws -> Instant {
        #expect(breaker.state == .closed)
        for _ in 0..<breaker.policy.hardFailuresInARow { call(.hard) }
        return now + (try #require(openSpan))
    }

    /// The time until the breaker admits probes; nil if it is not open.
    var openSpan: Duration? {
        if case .open(let end?) = breaker.state { now.duration(to: end) } else { nil }
    }
}
