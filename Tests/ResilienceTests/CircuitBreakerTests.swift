// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Resilience

struct CircuitBreakerTests {
    // MARK: Tripping

    @Test(
        arguments: [
            (.soft, 9, .good, 10, false), (.soft, 10, .good, 9, false), (.soft, 10, .good, 10, true),
            (.soft, 9, .good, 11, false), (.soft, 49, .good, 51, false),
            (.slow, 15, .good, 5, false), (.slow, 16, .good, 4, true), (.slow, 19, .good, 0, false),
        ] as [(Outcome, Int, Outcome, Int, Bool)])
    func `it trips at the shares of the policy, from the twentieth call on`(
        bad: Outcome, badCount: Int, other: Outcome, otherCount: Int, isTripped: Bool
    ) {
        let subject = Subject()
        for _ in 0..<otherCount { subject.call(other) }
        for _ in 0..<badCount { subject.call(bad) }
        #expect((subject.breaker.state.name == .open) == isTripped)
    }

    @Test func `what takes exactly as long as allowed is not slow`() {
        let subject = Subject()
        for _ in 0..<30 { subject.call(.success(took: .seconds(5))) }
        #expect(subject.breaker.state == .closed)
        for _ in 0..<150 { subject.call(.success(took: .seconds(5) + .nanoseconds(1))) }
        #expect(subject.breaker.state.name == .open)
    }

    @Test func `slow failures count as slow too`() {
        let subject = Subject()
        for _ in 0..<11 { subject.call(.slow) }
        for _ in 0..<4 { subject.call(.good) }
        for _ in 0..<5 { subject.call(.failure(.soft, took: .seconds(6))) }
        #expect(subject.breaker.state.name == .open)
    }

    @Test func `five hard failures in a row trip it, however few calls there were`() {
        let subject = Subject()
        for _ in 0..<4 { subject.call(.hard) }
        #expect(subject.breaker.state == .closed)
        subject.call(.hard)
        #expect(subject.breaker.state.name == .open)
    }

    @Test(arguments: [.good, .slow, .soft, .throttled] as [Outcome])
    func `any answer ends a row of hard failures`(answer: Outcome) {
        let subject = Subject()
        for _ in 0..<4 { subject.call(.hard) }
        subject.call(answer)
        for _ in 0..<4 { subject.call(.hard) }
        #expect(subject.breaker.state == .closed)
        subject.call(.hard)
        #expect(subject.breaker.state.name == .open)
    }

    @Test func `a caller that leaves neither adds to a row nor ends it`() {
        let subject = Subject()
        for _ in 0..<4 { subject.call(.hard) }
        for _ in 0..<100 { subject.call(.neutral) }
        #expect(subject.breaker.state == .closed)
        subject.call(.hard)
        #expect(subject.breaker.state.name == .open)
    }

    @Test(arguments: [.throttled, .neutral] as [Outcome])
    func `what says nothing about health is not counted as a call`(outcome: Outcome) {
        let subject = Subject()
        for _ in 0..<1000 { subject.call(outcome) }
        for _ in 0..<10 { subject.call(.good) }
        for _ in 0..<9 { subject.call(.soft) }
        #expect(subject.breaker.state == .closed)
        subject.call(.soft)
        #expect(subject.breaker.state.name == .open)
    }

    @Test(arguments: [(27, true), (30, false)])
    func `calls are forgotten with their bucket`(seconds: Int, isTripped: Bool) {
        let subject = Subject()
        for _ in 0..<19 { subject.call(.soft) }
        subject.now += .seconds(seconds)
        subject.call(.soft)
        #expect((subject.breaker.state.name == .open) == isTripped)
    }

    // MARK: Opening

    @Test func `open, it rejects until its time is over, then lets three probes through`() throws {
        let subject = Subject()
        let end = try subject.trip()
        subject.now = end - .milliseconds(1)
        #expect(subject.breaker.permit(at: subject.now) == .reject(retryAfter: .milliseconds(1)))
        subject.now = end
        for _ in 0..<3 { #expect(subject.permit() != nil) }
        #expect(subject.breaker.state == .halfOpen)
        #expect(subject.breaker.permit(at: end) == .reject(retryAfter: .seconds(15)))
    }

    @Test func `it opens twice as long each time, up to the longest, and at least half of that is certain`() throws {
        for seed in 0..<200 as Range<UInt64> {
            let subject = Subject(seed: seed)
            _ = try subject.trip()
            for seconds in [5, 10, 20, 40, 60, 60, 60, 60, 60] {
                let span = try #require(subject.openSpan)
                #expect((.seconds(seconds) / 2)...(.seconds(seconds)) ~= span)
                subject.now += span
                subject.call(.hard)
            }
        }
    }

    @Test func `the jitter reaches both ends`() throws {
        let spans = try (0..<1000 as Range<UInt64>).map { seed in
            let subject = Subject(seed: seed)
            _ = try subject.trip()
            return try #require(subject.openSpan)
        }
        #expect(try #require(spans.min()) < .milliseconds(2550))
        #expect(try #require(spans.max()) > .milliseconds(4950))
    }

    @Test func `after it closed, it opens as briefly as at first, and nothing is counted any more`() throws {
        let subject = Subject()
        for _ in 0..<3 {
            subject.now = try subject.trip()
            subject.call(.hard)
            subject.now += try #require(subject.openSpan)
            for _ in 0..<3 { subject.call(.good) }
            #expect(subject.breaker.state == .closed)
            for _ in 0..<4 { subject.call(.hard) }
            #expect(subject.breaker.state == .closed)
            subject.call(.hard)
            #expect(try #require(subject.openSpan) <= .seconds(5))
            subject.now += .seconds(5)
            for _ in 0..<3 { subject.call(.good) }
        }
    }

    @Test func `what was counted before it opened is forgotten when it closes`() throws {
        let subject = Subject()
        for _ in 0..<20 { subject.call(.soft) }
        subject.now += try #require(subject.openSpan)
        for _ in 0..<3 { subject.call(.good) }
        for _ in 0..<19 { subject.call(.soft) }
        #expect(subject.breaker.state == .closed)
    }

    // MARK: Probing

    @Test(arguments: [.slow, .soft, .hard, .throttled] as [Outcome])
    func `one bad probe opens it again`(outcome: Outcome) throws {
        let subject = Subject()
        subject.now = try subject.trip()
        subject.call(.good)
        subject.call(.good)
        subject.call(outcome)
        #expect(subject.breaker.state.name == .open)
    }

    @Test func `three good probes close it, two do not`() throws {
        let subject = Subject()
        subject.now = try subject.trip()
        subject.call(.good)
        subject.call(.good)
        #expect(subject.breaker.state == .halfOpen)
        subject.call(.good)
        #expect(subject.breaker.state == .closed)
    }

    @Test func `no more probes are let through than are still needed`() throws {
        let subject = Subject()
        subject.now = try subject.trip()
        subject.call(.good)
        subject.call(.good)
        #expect(subject.permit() != nil)
        #expect(subject.permit() == nil)
    }

    @Test func `a caller that leaves frees the slot of its probe`() throws {
        let subject = Subject()
        subject.now = try subject.trip()
        let probes = try (0..<3).map { _ in try #require(subject.permit()) }
        #expect(subject.permit() == nil)
        subject.record(.neutral, of: probes[1])
        #expect(subject.permit() != nil)
        #expect(subject.permit() == nil)
        #expect(subject.breaker.state == .halfOpen)
    }

    @Test func `a lost probe does not hold the breaker half-open`() throws {
        let subject = Subject()
        subject.now = try subject.trip()
        for _ in 0..<3 { _ = try #require(subject.permit()) }
        subject.now += .seconds(15) - .nanoseconds(1)
        #expect(subject.permit() == nil)
        subject.now += .nanoseconds(1)
        for _ in 0..<3 { subject.call(.good) }
        #expect(subject.breaker.state == .closed)
    }

    @Test(arguments: Outcome.all) func `a probe whose slot was lost changes nothing`(outcome: Outcome) throws {
        let subject = Subject()
        subject.now = try subject.trip()
        let lost = try #require(subject.permit())
        subject.now += .seconds(15)
        _ = try #require(subject.permit())
        let before = subject.breaker
        subject.record(outcome, of: lost)
        #expect(subject.breaker == before)
    }

    @Test func `a probe is counted once`() throws {
        let subject = Subject()
        subject.now = try subject.trip()
        let probe = try #require(subject.permit())
        for _ in 0..<10 { subject.record(.good, of: probe) }
        #expect(subject.breaker.state == .halfOpen)
    }

    @Test(arguments: Outcome.all) func `late answers of an earlier generation change nothing`(outcome: Outcome) throws {
        let subject = Subject()
        let late = try #require(subject.permit())
        subject.now = try subject.trip()
        for _ in 0..<2 {
            let before = subject.breaker
            subject.record(outcome, of: late)
            #expect(subject.breaker == before)
            subject.call(.good)
        }
        for _ in 0..<2 { subject.call(.good) }
        #expect(subject.breaker.state == .closed)
        let before = subject.breaker
        subject.record(outcome, of: late)
        #expect(subject.breaker == before)
    }

    // MARK: Transitions

    @Test func `transitions are handed out once, with the states between which they lead`() throws {
        let subject = Subject()
        subject.now = try subject.trip()
        subject.call(.hard)
        subject.now += .seconds(10)
        for _ in 0..<3 { subject.call(.good) }
        #expect(subject.breaker.takeTransitions() == [.trip: 1, .probe: 2, .reopen: 1, .close: 1])
        #expect(subject.breaker.takeTransitions() == [:])
        let names = CircuitBreaker.Transition.allCases.map { "\($0.from.rawValue) \($0.to.rawValue)" }
        #expect(names == ["closed open", "open half_open", "half_open open", "half_open closed"])
    }

    // MARK: Limits

    @Test func `a policy stays within its limits`() {
        typealias Limits = CircuitBreaker.Limits
        let span = Limits.span.upperBound
        let over = CircuitBreaker.Policy(
            bucketWidth: span * 2, bucketCount: 101, minimumCalls: .max, failurePercent: 101, slowPercent: 101,
            slowCall: span * 2, hardFailuresInARow: .max, firstOpening: span * 2, longestOpening: span * 2,
            probes: 101, probeLease: span * 2)
        let most = CircuitBreaker.Policy(
            bucketWidth: span, bucketCount: 100, minimumCalls: 1_000_000, failurePercent: 100, slowPercent: 100,
            slowCall: span, hardFailuresInARow: 1_000_000, firstOpening: span, longestOpening: span, probes: 100,
            probeLease: span)
        #expect(over == most)
        let under = CircuitBreaker.Policy(
            bucketWidth: .zero, bucketCount: 0, minimumCalls: .min, failurePercent: 0, slowPercent: -1,
            slowCall: .seconds(-1), hardFailuresInARow: 0, firstOpening: .zero, longestOpening: .zero, probes: 0,
            probeLease: .seconds(Int64.min))
        let least: Duration = .milliseconds(1)
        #expect(
            under
                == CircuitBreaker.Policy(
                    bucketWidth: least, bucketCount: 1, minimumCalls: 1, failurePercent: 1, slowPercent: 1,
                    slowCall: least, hardFailuresInARow: 1, firstOpening: least, longestOpening: least, probes: 1,
                    probeLease: least))
    }
}
