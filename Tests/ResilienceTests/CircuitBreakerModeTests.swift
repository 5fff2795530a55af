// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

@testable import Resilience

struct CircuitBreakerModeTests {
    @Test func `forced open, it rejects everything and reports open without an end`() {
        let subject = Subject(mode: .forcedOpen)
        for _ in 0..<10 {
            #expect(subject.breaker.permit(at: subject.now) == .reject(retryAfter: .seconds(5)))
            subject.now += .seconds(100)
        }
        #expect(subject.breaker.state == .open(until: nil))
    }

    @Test(arguments: Outcome.all) func `forced closed, it lets everything through and counts nothing`(outcome: Outcome)
    {
        let subject = Subject(mode: .forcedClosed)
        let before = subject.breaker
        for _ in 0..<100 { subject.call(outcome) }
        #expect(subject.breaker == before)
        #expect(subject.breaker.state == .closed)
    }

    @Test func `metrics only, it decides as in auto but rejects nothing`() throws {
        let (auto, metricsOnly) = (Subject(seed: 3), Subject(mode: .metricsOnly, seed: 3))
        var rejections = 0
        for step in 0..<2000 {
            let outcome: Outcome = (step / 50).isMultiple(of: 2) ? .hard : .good
            let real = auto.permit()
            let shadow = try #require(metricsOnly.permit())
            if let real { auto.record(outcome, of: real) } else { rejections += 1 }
            metricsOnly.record(outcome, of: shadow)
            #expect(metricsOnly.breaker.state == auto.breaker.state)
            auto.now += .milliseconds(100)
            metricsOnly.now += .milliseconds(100)
        }
        #expect(rejections > 100)
        let transitions = auto.breaker.takeTransitions()
        #expect(metricsOnly.breaker.takeTransitions() == transitions)
        #expect(Set(transitions.keys) == Set(CircuitBreaker.Transition.allCases) || !TestSeed.isOfCI)
    }
}
