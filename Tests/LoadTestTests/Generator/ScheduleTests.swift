// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

/// The due times of requests.
struct ScheduleTests {
    private static func curve(_ stages: (Double, Double, Double)...) -> RateCurve {
        RateCurve(stages: stages.map { RateStage(from: $0.0, to: $0.1, seconds: $0.2) })
    }

    private static func times(
        _ curve: RateCurve, _ pattern: ArrivalPattern = .constant, worker: Int = 0, of workers: Int = 1,
        limit: Int = .max, seed: UInt64 = 1
    ) -> [Double] {
        var arrivals = Arrivals(curve, pattern, worker: worker, of: workers, limit: limit, seed: seed)
        return Array(sequence(state: ()) { _ in arrivals.next() }.prefix(100_000))
    }

    // MARK: - Curves

    @Test(arguments: [(0.0, 0.0), (5, 500), (10, 1000), (20, 2500), (30, 6000), (31, 6000)])
    func `a curve says how many are due until a moment`(seconds: Double, count: Double) {
        let curve = Self.curve((100, 100, 10), (100, 200, 10), (200, 500, 10))
        #expect(abs(curve.count(by: seconds) - count) < 1e-9)
    }

    @Test(arguments: [(100.0, 100.0), (0, 100), (100, 0), (100, 200), (200, 100), (1e-9, 1e6)])
    func `when so many are due is the inverse of how many are due`(from: Double, to: Double) {
        let stage = RateStage(from: from, to: to, seconds: 10)
        for share in stride(from: 0.0, through: 0.99, by: 0.03) {
            let count = share * stage.count
            #expect(abs(stage.count(by: stage.time(ofCount: count)) - count) < 1e-6 * max(1, count))
        }
    }

    @Test func `a stage in which nothing is due is passed over`() {
        #expect(Self.times(Self.curve((0, 0, 5), (1, 1, 3))) == [5, 6, 7])
        #expect(Self.times(Self.curve((0, 0, 5))).isEmpty)
    }

    // MARK: - Arrivals

    @Test func `constant arrivals are evenly spaced and begin at once`() {
        #expect(Self.times(Self.curve((10, 10, 0.5))) == [0, 0.1, 0.2, 0.3, 0.4])
    }

    @Test(arguments: [1, 2, 3, 7])
    func `workers share a schedule without a gap and without a request twice`(workers: Int) {
        let curve = Self.curve((50, 50, 1), (50, 150, 2))
        let all = (0..<workers).flatMap { Self.times(curve, worker: $0, of: workers) }.sorted()
        #expect(all == Self.times(curve))
        #expect(all.count == 250)
    }

    @Test(arguments: [1, 3])
    func `a limit is shared, too`(workers: Int) {
        let endless = Self.curve((1000, 1000, .infinity))
        let all = (0..<workers).flatMap { Self.times(endless, worker: $0, of: workers, limit: 100) }.sorted()
        #expect(all.count == 100)
        #expect(all.last == 0.099)
    }

    @Test func `poisson arrivals have the rate's mean and its spread`() {
        let times = (0..<4).flatMap { Self.times(Self.curve((1000, 1000, 20)), .poisson, worker: $0, of: 4) }.sorted()
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        let mean = gaps.reduce(0, +) / Double(gaps.count)
        let variance = gaps.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(gaps.count)
        #expect(abs(mean - 0.001) < 0.00005)
        // Of exponential gaps the deviation equals the mean; of even ones it is 0.
        #expect(abs(variance.squareRoot() / mean - 1) < 0.05)
    }

    @Test func `chance follows from the seed and the worker`() {
        let curve = Self.curve((1000, 1000, 1))
        #expect(Self.times(curve, .poisson, seed: 7) == Self.times(curve, .poisson, seed: 7))
        #expect(Self.times(curve, .poisson, seed: 7) != Self.times(curve, .poisson, seed: 8))
        #expect(Self.times(curve, .poisson, worker: 0, of: 2) != Self.times(curve, .poisson, worker: 1, of: 2))
    }

    // MARK: - Timetables and plans

    @Test func `what warms up is due before zero, at the first rate`() throws {
        var plan = LoadPlan(target: try LoadTarget("http://localhost"))
        plan.warmupSeconds = 0.5
        plan.schedule = LoadSchedule(curve: Self.curve((2, 2, 1)), pattern: .constant, first: 4)
        var timetable = Timetable(plan, worker: 0)
        let due = Array(sequence(state: ()) { _ in timetable.next() })
        #expect(due == [-500_000_000, -250_000_000, 0, 500_000_000])
        #expect(plan.target(inSecond: 0) == 3 && plan.target(inSecond: 1) == 1 && plan.target(inSecond: 2) == 0)
    }

    @Test func `a plan that ends after a number of requests knows when`() throws {
        var plan = LoadPlan(target: try LoadTarget("http://localhost"))
        plan.schedule = LoadSchedule(curve: Self.curve((100, 100, .infinity)), pattern: .constant, first: 100)
        plan.maximumRequests = 250
        #expect(plan.seconds == 2.5)
        #expect((0..<4).map { plan.target(inSecond: $0) } == [100, 100, 50, 0])
    }
}
