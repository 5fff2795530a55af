// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

struct TicksTests {
    @Test(arguments: [
        (0.0, 5, [0.0]), (1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]), (3, 5, [0, 1, 2, 3]), (3000, 5, [0, 1000, 2000, 3000]),
        (0.15, 4, [0, 0.05, 0.1, 0.15]),
    ])
    func `linear ticks are round and end within the axis`(upper: Double, most: Int, expected: [Double]) {
        let ticks = Ticks.linear(upTo: upper, atMost: most)
        #expect(ticks.count == expected.count)
        for (tick, value) in zip(ticks, expected) { #expect((tick - value).magnitude < 1e-9) }
    }

    @Test func `steps are 1, 2 or 5 times a power of ten`() {
        #expect([0.1, 0.11, 0.3, 0.51, 7, 49].map(Ticks.roundedUp) == [0.1, 0.2, 0.5, 1, 10, 50])
        #expect([0.1, 0.11, 0.3, 0.51, 7, 49].map(Ticks.roundedDown) == [0.1, 0.1, 0.2, 0.5, 5, 20])
        #expect(Ticks.roundedUp(0.3 / 3) == 0.1)
        #expect([0, -1, .nan, .infinity].map(Ticks.roundedUp) == [1, 1, 1, 1])
    }

    @Test func `logarithmic ticks are decades where there is no room for more`() {
        #expect(Ticks.logarithmic(1, 10, atMost: 5) == [1, 2, 5, 10])
        #expect(Ticks.logarithmic(0.5, 200, atMost: 5) == [1, 10, 100])
        #expect(Ticks.logarithmic(1, 1e6, atMost: 4) == [1, 100, 10_000, 1_000_000])
    }

    @Test func `time is cut in whole seconds, minutes and hours`() {
        #expect(Ticks.time(upTo: 30, atMost: 6) == [0, 5, 10, 15, 20, 25, 30])
        #expect(Ticks.time(upTo: 3600, atMost: 6) == [0, 600, 1200, 1800, 2400, 3000, 3600])
        #expect(Ticks.time(upTo: 9e15, atMost: 12).count <= 13)
        #expect(Axis.time(until: 30).ticks(atMost: 3).map(\.label) == ["0 s", "10 s", "20 s", "30 s"])
        #expect(Axis.time(until: 300).ticks(atMost: 3).map(\.label) == ["0:00", "2:00", "4:00"])
        #expect(Axis.time(until: 8000).ticks(atMost: 3).map(\.label) == ["0:00", "1:00", "2:00"])
    }

    @Test func `an axis reaches to a round number above what it shows`() {
        #expect(Axis.amounts([10, 2100], unit: "").upper == 3000)
        #expect(Axis.amounts([], unit: "").upper == 1)
        #expect(Axis.amounts([0, 0], unit: "").upper == 1)
        #expect(Axis.amounts([0.12], unit: "").ticks(atMost: 4).map(\.label) == ["0", "0.05", "0.10", "0.15"])
        #expect(Axis.amounts([-3, 5], unit: "").ticks(atMost: 5).map(\.label) == ["-4", "-2", "0", "2", "4", "6"])
        #expect(Axis.amounts([-0.3], unit: "").ticks(atMost: 4).map(\.label) == ["-0.3", "-0.2", "-0.1", "0"])
        #expect(Axis.amounts([48e6], unit: "").ticks(atMost: 5).map(\.label) == ["0", "20M", "40M", "60M"])
    }

    @Test func `latencies of one size stand on a linear axis, others on a logarithmic one`() {
        #expect(Axis.latencies([1, 2, 7]) == Axis(scale: .linear, lower: 0, upper: 8, unit: "ms"))
        #expect(
            Axis.latencies([0.3, 0, 400]) == Axis(scale: .logarithmic, lower: 0.2, upper: 500, unit: "ms"))
        #expect(Axis.latencies([]).scale == .linear)
        #expect(Axis.latencies([0]).upper > 0)
    }

    @Test func `the percentile axis goes as far as there are requests to tell of`() {
        #expect(Axis.percentiles(of: 1000).ticks(atMost: 9).map(\.label) == ["0", "50", "90", "99"])
        #expect(Axis.percentiles(of: 50_000).ticks(atMost: 9).map(\.label) == ["0", "50", "90", "99", "99.9", "99.99"])
        #expect(Axis.percentiles(of: 0).ticks(atMost: 9).count == 3)
        #expect(Axis.percentiles(of: .max).upper < 100)
    }

    @Test(arguments: [Axis.Scale.linear, .logarithmic, .percentiles])
    func `no value leaves its axis`(_ scale: Axis.Scale) {
        let axis = Axis(scale: scale, lower: scale == .logarithmic ? 0.1 : 0, upper: 99.9, unit: "")
        #expect(axis.fraction(of: axis.lower) == 0 && axis.fraction(of: axis.upper) == 1)
        for value in [-1, 0, 1e-9, 50, 100, 1e9, .infinity] { #expect((0...1).contains(axis.fraction(of: value))) }
        #expect(axis.fraction(of: 5) < axis.fraction(of: 50))
    }

    @Test func `each nine takes the same room`() {
        let axis = Axis(scale: .percentiles, lower: 0, upper: 99.999, unit: "")
        let places = [90, 99, 99.9, 99.99].map(axis.fraction)
        for (place, number) in zip(places, 1...) { #expect((place - Double(number) / 5).magnitude < 1e-6) }
    }
}
