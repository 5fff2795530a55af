// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A stretch of a run in which the rate stays or changes evenly.
struct RateStage: Hashable, Sendable {
    let from: Double
    /// The rate at the end.
    let to: Double
    /// The length; infinite for a run that only a number of requests ends.
    let seconds: Double

    /// The number of requests that are due in all of it.
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

/// The rate over all stages of a run.
struct RateCurve: Hashable, Sendable {
    let stages: [RateStage]

    /// The length; infinite if only a number of requests ends it.
    var seconds: Double { stages.reduce(0) { $0 + $1.seconds } }

    /// Returns the number of requests that are due between two times from the beginning.
    func count(from start: Double, to end: Double) -> Double { count(by: end) - count(by: start) }

    /// Returns the number of requests that are due until a time.
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
    private let stages: [RateStage]
    private var stage = 0
    private var countBefore = 0.0
    private var secondsBefore = 0.0

    init(_ curve: RateCurve) {
        stages = curve.stages
    }

    /// Returns the time of the request that so many precede, or nil if the curve ends earlier.
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
