// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import ReceiptForge

/// A stretch of a run in which the rate stays or changes evenly.
struct RateStage: Hashable, Sendable {
    let from: Double
    let to: Double
    /// The length; infinite for a run that only a number of requests ends.
    let seconds: Double

    var count: Double { (from + to) / 2 * seconds }

    /// Returns the number of requests that are due in its first seconds.
    func count(by elapsed: Double) -> Double {
        guard seconds.isFinite, elapsed < seconds else { return min(elapsed, seconds) * (from + to) / 2 }
        return from * elapsed + (to - from) * elapsed * elapsed / (2 * seconds)
    }

    /// Returns the time from its beginning until so many have been due.
    func time(ofCount count: Double) -> Double {
        guard count > 0 else { return 0 }
        let growth = seconds.isFinite && seconds > 0 ? (to - from) / seconds : 0
        // The root of `from * t + growth / 2 * t * t = count` in the form that does not cancel where growth is small.
        return 2 * count / (from + (from * from + 2 * growth * count).squareRoot())
    }
}

struct RateCurve: Hashable, Sendable {
    let stages: [RateStage]

    /// The length; infinite if only a number of requests ends it.
    var seconds: Double { stages.reduce(0) { $0 + $1.seconds } }

    func count(by elapsed: Double) -> Double {
        var begin = 0.0, count = 0.0
        for stage in stages where elapsed > begin {
            count += stage.count(by: elapsed - begin)
            begin += stage.seconds
        }
        return count
    }
}

/// Turns counts into times, for growing counts only, so that no stage is looked at twice.
struct RateCursor: Sendable {
    let curve: RateCurve
    private(set) var stage = 0
    private(set) var countBefore = 0.0
    private(set) var secondsBefore = 0.0

    /// Returns the time of the request that so many precede, or nil if the curve ends earlier.
    mutating func time(ofCount count: Double) -> Double? {
        while stage < curve.stages.count {
            let current = curve.stages[stage]
            if count < countBefore + current.count {
                return secondsBefore + current.time(ofCount: count - countBefore)
            }
            countBefore += current.count
            secondsBefore += current.seconds
            stage += 1
        }
        return nil
    }
}

/// The times of one worker's requests, in nanoseconds from the beginning of the recorded part; warm-up comes before it.
struct Timetable: Sendable {
    private var warmup: Arrivals
    private var arrivals: Arrivals
    private let warmupSeconds: Double
    private var isWarm = false

    init(_ plan: LoadPlan, worker: Int) {
        let schedule = plan.schedule
        warmupSeconds = plan.warmupSeconds
        warmup = Arrivals(
            RateCurve(stages: [RateStage(from: schedule.first, to: schedule.first, seconds: plan.warmupSeconds)]),
            schedule.pattern, worker: worker, of: plan.workers, limit: .max, seed: ~plan.seed)
        arrivals = Arrivals(
            schedule.curve, schedule.pattern, worker: worker, of: plan.workers, limit: plan.maximumRequests ?? .max,
            seed: plan.seed)
    }

    mutating func next() -> Int64? {
        if !isWarm {
            if let time = warmup.next() { return Self.nanoseconds(time - warmupSeconds) }
            isWarm = true
        }
        return arrivals.next().map(Self.nanoseconds)
    }

    private static func nanoseconds(_ seconds: Double) -> Int64 { Int64((seconds * 1e9).rounded()) }
}

/// The distances between requests; the raw values stand in results.
enum ArrivalPattern: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
    case constant
    /// Random, as of many independent customers.
    case poisson
}

/// The times of one worker's requests. All workers together make the curve.
struct Arrivals: Sendable {
    private var cursor: RateCursor
    private let pattern: ArrivalPattern
    private let workers: Int
    private var generator: SplitMix64
    private var position: Double
    private var remaining: Int

    /// - Parameter limit: the most requests of all workers together.
    init(_ curve: RateCurve, _ pattern: ArrivalPattern, worker: Int, of workers: Int, limit: Int, seed: UInt64) {
        cursor = RateCursor(curve: curve)
        self.pattern = pattern
        self.workers = workers
        generator = SplitMix64(seed: seed, purpose: "arrivals of worker \(worker)")
        position = Double(worker)
        remaining = limit / workers + (worker < limit % workers ? 1 : 0)
        if pattern == .poisson { position = step() }
    }

    /// Returns the time of the next in seconds from the curve's beginning; nil if there is none.
    mutating func next() -> Double? {
        guard remaining > 0, let time = cursor.time(ofCount: position) else { return nil }
        remaining -= 1
        position += step()
        return time
    }

    /// Returns the distance to the next, in requests of all workers. Poisson processes add up to a Poisson process.
    private mutating func step() -> Double {
        guard pattern == .poisson else { return Double(workers) }
        return -log(1 - generator.fraction()) * Double(workers)
    }
}
