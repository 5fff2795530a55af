// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// When each request of one worker is due, in nanoseconds from the moment at which recording begins: what warms up is due
/// before it.
struct Timetable: Sendable {
    private var warmup: Arrivals
    private var arrivals: Arrivals
    private let warmupSeconds: Double
    private var isWarm = false

    /// The requests of one worker.
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

    /// The next, or nil if there are no more.
    mutating func next() -> Int64? {
        if !isWarm {
            if let time = warmup.next() { return Self.nanoseconds(time - warmupSeconds) }
            isWarm = true
        }
        return arrivals.next().map(Self.nanoseconds)
    }

    private static func nanoseconds(_ seconds: Double) -> Int64 { Int64((seconds * 1e9).rounded()) }
}
