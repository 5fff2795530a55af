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
        #expect([0.1, 0.11, 0.3, 0.51, 7, 49].map(Ticks.roundStep) == [0.1, 0.2, 0.5, 1, 10, 50])
        #expect([0.1, 0.11, 0.3, 0.51, 7, 49].map(Ticks.roundFloor) == [0.1, 0.1, 0.2, 0.5, 5, 20])
        #expect(Ticks.roundStep(atLeast: 0.3 / 3) == 0.1)
        #expect([0, -1, .nan, .infinity].map(Ticks.roundStep) == [1, 1, 1, 1])
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
        #expect(Axis.amounts([10, 2100], unit: "").scale.upper == 3000)
        #expect(Axis.amounts([], unit: "").scale.upper == 1)
        #expect(Axis.amounts([0, 0], unit: "").scale.upper == 1)
        #expect(Axis.amounts([0.12], unit: "").ticks(atMost: 4).map(\.label) == ["0", "0.05", "0.10", "0.15"])
        #expect(Axis.amounts([-3, 5], unit: "").ticks(atMost: 5).map(\.label) == ["-4", "-2", "0", "2", "4", "6"])
        #expect(Axis.amounts([-0.3], unit: "").ticks(atMost: 4).map(\.label) == ["-0.3", "-0.2", "-0.1", "0"])
        #expect(Axis.amounts([48e6], unit: "").ticks(atMost: 5).map(\.label) == ["0", "20M", "40M", "60M"])
    }

    @Test func `latencies of one size stand on a linear axis, others on a logarithmic one`() {
        #expect(Axis.latencies([1, 2, 7]).scale == Scale(kind: .linear, lower: 0, upper: 8))
        #expect(Axis.latencies([0.3, 0, 400]).scale == Scale(kind: .logarithmic, lower: 0.2, upper: 500))
        #expect(Axis.latencies([]).scale.kind == .linear)
        #expect(Axis.latencies([0]).scale.upper > 0)
    }

    @Test func `the percentile axis goes as far as there are requests to tell of`() {
        #expect(Axis.percentiles(of: 1000).ticks(atMost: 9).map(\.label) == ["0", "50", "90", "99"])
        #expect(Axis.percentiles(of: 50_000).ticks(atMost: 9).map(\.label) == ["0", "50", "90", "99", "99.9", "99.99"])
        #expect(Axis.percentiles(of: 0).ticks(atMost: 9).count == 3)
        #expect(Axis.percentiles(of: .max).scale.upper < 100)
    }

    @Test(arguments: [Scale.Kind.linear, .logarithmic, .tail])
    func `no value leaves its axis`(_ kind: Scale.Kind) {
        let scale = Scale(kind: kind, lower: kind == .logarithmic ? 0.1 : 0, upper: 99.9)
        #expect(scale.fraction(of: scale.lower) == 0 && scale.fraction(of: scale.upper) == 1)
        for value in [-1, 0, 1e-9, 50, 100, 1e9, .infinity] { #expect((0...1).contains(scale.fraction(of: value))) }
        #expect(scale.fraction(of: 5) < scale.fraction(of: 50))
    }

    @Test func `each nine takes the same room`() {
        let scale = Scale(kind: .tail, lower: 0, upper: 99.999)
        let places = [90, 99, 99.9, 99.99].map(scale.fraction)
        for (place, number) in zip(places, 1...) { #expect((place - Double(number) / 5).magnitude < 1e-6) }
    }
}
