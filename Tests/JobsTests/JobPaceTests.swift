// SPDX-License-Identifier: Apache-2.0

import Gateway
import ReceiptForge
import Testing
import TestSupport

@testable import Customers

struct JobPaceTests {
    private var generator = SplitMix64(seed: TestSeed.number(0))
    private let start = ContinuousClock.now

    @Test func `sixteen jobs are in flight at most`() {
        var pace = JobPace()
        #expect(pace.permitted(at: start) == 16)
        pace.took(16, of: 16, at: start)
        #expect(pace.permitted(at: start) == 0)
        pace.finished()
        #expect(pace.permitted(at: start) == 1)
    }

    @Test func `an empty store is looked at twice a second, or when a job is announced`() {
        var pace = JobPace()
        pace.took(0, of: 16, at: start)
        #expect(pace.permitted(at: start + .milliseconds(499)) == 0)
        #expect(pace.permitted(at: start + .milliseconds(500)) == 16)
        pace.announce()
        #expect(pace.permitted(at: start) == 16)
    }

    @Test mutating func `pauses double up to two seconds, and begin anew once Apple was reached`() {
        var pace = JobPace(), now = start
        for longest in [1, 2, 2, 2] {
            let delay = pace.pause(.circuitOpen, at: now, using: &generator)
            #expect(delay >= .seconds(30) && delay <= .seconds(60))
            #expect(pace.permitted(at: now + .seconds(longest) / 2 - .milliseconds(1)) == 0)
            now += .seconds(longest)
            #expect(pace.permitted(at: now) == 16)
        }
        pace.reachedApple()
        _ = pace.pause(.circuitOpen, at: now, using: &generator)
        #expect(pace.permitted(at: now + .seconds(1)) == 16)
    }

    @Test mutating func `attempts beside the first obstacle do not lengthen its pause`() {
        var pace = JobPace()
        for _ in 1...16 { _ = pace.pause(.circuitOpen, at: start, using: &generator) }
        #expect(pace.permitted(at: start + .seconds(1)) == 16)
        _ = pace.pause(.circuitOpen, at: start + .seconds(1), using: &generator)
        #expect(pace.permitted(at: start + .seconds(3)) == 16)
    }

    @Test mutating func `a used-up budget pauses for a tenth of a second at most, and halves the attempts in flight`() {
        var pace = JobPace(), now = start
        for expected in [8, 4, 2, 1, 1] {
            let delay = pace.pause(.upstreamBudget, at: now, using: &generator)
            #expect(delay <= .milliseconds(100))
            now += .milliseconds(100)
            #expect(pace.permitted(at: now) == expected)
        }
        for _ in 1...200 { pace.reachedApple() }
        #expect(pace.permitted(at: now) == 16)
    }

    @Test(arguments: [(0, 2), (1, 4), (4, 32), (5, 60), (1000, 60)])
    func `the delay of a job doubles from two seconds to a minute`(attempts: Int, seconds: Int) {
        var generator = SplitMix64(seed: TestSeed.number(0))
        for _ in 1...100 {
            let delay = JobPace.delay(afterAttempts: attempts, using: &generator)
            #expect(delay >= .seconds(seconds) / 2 && delay <= .seconds(seconds))
        }
    }
}
