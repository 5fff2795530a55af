// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import ReceiptForge

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
    /// All alike.
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
        cursor = RateCursor(curve)
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

    /// Returns the distance to the next, in requests of all workers. Processes of Poisson add up to one.
    private mutating func step() -> Double {
        guard pattern == .poisson else { return Double(workers) }
        return -log(1 - generator.fraction()) * Double(workers)
    }
}
