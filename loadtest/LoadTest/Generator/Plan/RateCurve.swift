// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How many requests are due when, over all stages of a run.
struct RateCurve: Hashable, Sendable {
    let stages: [RateStage]

    /// From the beginning to the end; infinite if only a number of requests ends it.
    var seconds: Double { stages.reduce(0) { $0 + $1.seconds } }

    /// How many are due between two moments, in seconds from the beginning.
    func count(from start: Double, to end: Double) -> Double { count(by: end) - count(by: start) }

    /// How many are due until a moment.
    func count(by elapsed: Double) -> Double {
        var begin = 0.0, count = 0.0
        for stage in stages where elapsed > begin {
            count += stage.count(by: elapsed - begin)
            begin += stage.seconds
        }
        return count
    }
}

/// Turns counts into times; asked for growing counts only, so that no stage is looked at twice.
struct RateCursor: Sendable {
    private let stages: [RateStage]
    private var stage = 0
    private var countBefore = 0.0
    private var secondsBefore = 0.0

    init(_ curve: RateCurve) {
        stages = curve.stages
    }

    /// When the request is due before which so many are, in seconds; nil when the curve has ended by then.
    mutating func time(ofCount count: Double) -> Double? {
        while stage < stages.count {
            let current = stages[stage]
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
