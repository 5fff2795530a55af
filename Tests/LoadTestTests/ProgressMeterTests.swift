// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

struct ProgressMeterTests {
    private static func meter() -> ProgressMeter {
        ProgressMeter(unit: "turns", total: 2000, interval: .seconds(1))
    }

    @Test func `a line tells the share, the count and the time that is left`() {
        var meter = Self.meter()
        #expect(meter.line(done: 500, elapsed: .seconds(10)) == "25 %, 500 of 2,000 turns, about 30 s left")
    }

    @Test func `long remainders are given in minutes`() {
        var meter = Self.meter()
        #expect(meter.line(done: 20, elapsed: .seconds(3)) == "1 %, 20 of 2,000 turns, about 5 min left")
    }

    @Test func `two lines are an interval apart`() {
        var meter = Self.meter()
        #expect(meter.line(done: 1, elapsed: .seconds(5)) != nil)
        #expect(meter.line(done: 2, elapsed: .milliseconds(5999)) == nil)
        #expect(meter.line(done: 3, elapsed: .seconds(6)) != nil)
    }

    @Test func `the first second is too early for an estimate`() {
        var meter = Self.meter()
        #expect(meter.line(done: 1, elapsed: .milliseconds(999)) == nil)
        #expect(meter.line(done: 0, elapsed: .seconds(2)) == nil)
    }
}
